-- Requests as browsers send them, for slugs WORD000001 to WORD plus COUNT in hex:
--   wrk … -s follow.lua URL -- WORD COUNT ORDER FIRST [REFERRER_BYTES]
--
-- ORDER  turn    one after the other, from the slug after FIRST on
--        zipf    by Zipf's law with exponent 1: the slug of rank r comes count/r times as often as the last
--        new     a slug that was never requested before, each once
--
-- A few requests are written at the start. Many would not fit into Lua's memory and are joined from three parts.

local PREPARED = 20000
local DRAWS = 1000000

local threads = 0

function setup(thread)
	thread:set("seed", threads)
	threads = threads + 1
end

local headers = {
	["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
	["Accept-Language"] = "en-US,en;q=0.9",
	["Accept-Encoding"] = "gzip, deflate, br",
	["Upgrade-Insecure-Requests"] = "1",
	["Sec-Fetch-Mode"] = "navigate",
}

local word, count, order
local number
local requests = {}
local head, tail
local ranks

local function slug(i)
	return string.format("%s%06x", word, i)
end

-- The ranks of DRAWS draws, from the inverse of the distribution. Plain tables: LuaJIT sometimes finds no memory for compiled
-- code, and its interpreter reads arrays of FFI so slowly that wrk, not the server, would be measured.
local function draw_ranks()
	local cumulative = { [0] = 0 }
	for rank = 1, count do
		cumulative[rank] = cumulative[rank - 1] + 1 / rank
	end
	ranks = {}
	for i = 1, DRAWS do
		local wanted = math.random() * cumulative[count]
		local low, high = 1, count
		while low < high do
			local middle = math.floor((low + high) / 2)
			if cumulative[middle] < wanted then
				low = middle + 1
			else
				high = middle
			end
		end
		ranks[i] = low
	end
end

function init(args)
	word, count, order, number = args[1], tonumber(args[2]), args[3], tonumber(args[4])
	math.randomseed(os.time() + seed)
	if args[5] then
		headers["Referer"] = "https://news.example/" .. string.rep("x", tonumber(args[5]))
	end
	if order == "turn" and count <= PREPARED then
		for i = 1, count do
			requests[i] = wrk.format("GET", "/" .. slug(i), headers)
		end
		return
	end
	head, tail = wrk.format("GET", "/@", headers):match("^(.-)@(.*)$")
	if order == "zipf" then
		draw_ranks()
	elseif order == "new" then
		word = string.format("%s%08x", word, math.random(0, 0x7fffffff) + os.time() % 1000000)
	end
end

function request()
	number = number + 1
	if #requests > 0 then
		return requests[(number - 1) % #requests + 1]
	elseif order == "zipf" then
		return head .. slug(ranks[number % DRAWS + 1]) .. tail
	elseif order == "new" then
		return head .. slug(number) .. tail
	end
	return head .. slug((number - 1) % count + 1) .. tail
end
