-- What wrk asks links-api for: "create" makes links, "get" reads them. The file has a line "token id" for each question.
local asked, next_one, word = {}, 0, "get"

function init(args)
	word = args[1]
	for line in io.lines(args[2]) do
		local token, id = line:match("^(%S+) (%d+)$")
		local headers = { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json" }
		if word == "create" then
			asked[#asked + 1] = wrk.format("POST", "/api/links", headers, '{"original_url":"https://example.com/landing"}')
		else
			asked[#asked + 1] = wrk.format("GET", "/api/links/" .. id, headers)
		end
	end
end

function request()
	next_one = next_one % #asked + 1
	return asked[next_one]
end
