-- Requests of wrk to links-api: "create" makes links, "get" reads them. The file has a line "token id" per request.
local requests, next_one, word = {}, 0, "get"

function init(args)
	word = args[1]
	for line in io.lines(args[2]) do
		local token, id = line:match("^(%S+) (%d+)$")
		local headers = { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json" }
		if word == "create" then
			requests[#requests + 1] = wrk.format("POST", "/api/links", headers, '{"original_url":"https://example.com/landing"}')
		else
			requests[#requests + 1] = wrk.format("GET", "/api/links/" .. id, headers)
		end
	end
end

function request()
	next_one = next_one % #requests + 1
	return requests[next_one]
end
