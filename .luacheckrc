-- Scripts run inside the server, each with lua/parts/prelude.lua in front of it.
std = 'lua51'
max_line_length = 110
read_globals = {'redis', 'cjson', 'cmsgpack', 'KEYS', 'ARGV'}
