-- Constants and helpers of all parts that follow. For scripts beyond their usual case.

local SIGN_OF_LIFE_MS = 10500   -- a waiter asks so often; more than 10 s, so never twice in 10 s
local TURN_MS = 5000            -- a waiter whose turn has come has so long to take it
local TURN_LEAST_MS = 1000      -- also when that turn began before the waiter was told
local LOOK_MS = 1000            -- after so long a waiter sees whether one of Redisson's has taken its turn
local SILENT_MS = 15000         -- a waiter without a sign of life for so long goes with a hung one
local AWAY_MS = 2000            -- after a restart of the server all waiters get so long to come back
local CLOCK_SLACK_MS = 20       -- clocks may differ by so much: TIME and that of PEXPIRE inside a script, too
local OUR_SCORE_MS = 30000
local REDISSON_SCORE_MS = 300000
local QUEUE_TTL_MS = 600000     -- beyond the largest score
local STATE_TTL_MS = 86400000
local LOOK_BEHIND = 200         -- so many are looked at when the head is dead
local SHORT_QUEUE = 20          -- such a queue is looked through whenever it is touched; a longer one seldom

local MANY = 1000               -- words for one command: unpack takes no more than some thousands

-- The one field of key 1 beside several holders. Neither is an owner id.
local SHARED_HOLDS, SLOT_HOLDS = 'fairlock:shared', 'fairlock:slots'

-- The sorted set of several holders. A request declares this key only if its process has, or wants, a shared
-- hold or a slot. So a user who never shares a lock needs no right to it. And while a cluster moves the keys
-- of an exclusive lock, the old node runs the script: it refuses one that declares a key that is not there.
local HOLDERS = KEYS[6] or 'fairlock_holders:' .. match(LOG, '^fairlock_log:(.*)$')

-- Tickets count in it.
local now_us = clock[1] * 1000000 + clock[2]

-- For bookkeeping that must not fail what matters: a server out of memory refuses it, and lets
-- the holder go all the same. Returns nil when the server refused.
local function note(...)
	local result = pcall_server(...)
	if type(result) ~= 'table' or not result.err then
		return result
	end
end

local function int(number)
	return format('%.0f', number)
end

-- A number that we wrote, or nil for what others may have put in its place.
local function number(text)
	local value = tonumber(text)
	if value and value >= 0 and value < MOST then
		return value - value % 1
	end
end

-- When a lease ends (ms), by its score among the holders; nil if there is none.
local function end_of(score)
	score = tonumber(score or nil)
	return score and math.max(0, math.min(math.floor(score), now + LONGEST_MS))
end
