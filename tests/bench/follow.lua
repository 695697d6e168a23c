-- What browsers send, for slugs <word>000001 … in turn: wrk … -s follow.lua URL -- WORD COUNT
-- Requests are written once, at start, so that wrk itself costs little.

local requests = {}
local next_one = 0

local headers = {
	["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
	["Accept-Language"] = "en-US,en;q=0.9",
	["Accept-Encoding"] = "gzip, deflate, br",
	["Upgrade-Insecure-Requests"] = "1",
	["Sec-Fetch-Mode"] = "navigate",
}

function init(args)
	for i = 1, tonumber(args[2]) do
		requests[i] = wrk.format("GET", string.format("/%s%06x", args[1], i), headers)
	end
end

function request()
	next_one = next_one % #requests + 1
	return requests[next_one]
end
