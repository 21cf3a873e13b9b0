-- Scripts run inside the server, each with lua/parts/base.lua in front of it.
std = 'lua51'
max_line_length = false -- numbers replace their names; lint looks at the files as they are written
read_globals = {'redis', 'cjson', 'cmsgpack', 'KEYS', 'ARGV'}
