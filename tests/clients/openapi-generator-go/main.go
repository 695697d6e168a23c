// One journey through the API with the client that openapi-generator makes of the description.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"

	"journey/api"
)

// take ends the journey unless the call worked.
func take[T any](answer T, response *http.Response, err error) T {
	if err != nil {
		panic(fmt.Sprint(err, response))
	}
	return answer
}

func check(is bool, what string) {
	if !is {
		panic(what)
	}
}

func main() {
	base, email, ctx := os.Args[1], os.Args[2], context.Background()
	settings := api.NewConfiguration()
	settings.Servers = api.ServerConfigurations{{URL: base}}
	client := api.NewAPIClient(settings)
	password := "correct horse battery"
	take(client.AccountsAPI.Register(ctx).Registration(*api.NewRegistration(email, password)).Execute())
	login := take(client.AccountsAPI.Login(ctx).Credentials(*api.NewCredentials(email, password)).Execute())
	settings.AddDefaultHeader("Authorization", "Bearer "+login.AccessToken)
	fmt.Println("register")

	link := take(client.LinksAPI.CreateLink(ctx).LinkCreation(*api.NewLinkCreation("https://example.com/1")).Execute()).Link
	fmt.Println("create")

	links := []api.LinkCreation{*api.NewLinkCreation("https://example.com/2"), *api.NewLinkCreation("https://example.com/3")}
	bulk := take(client.LinksAPI.CreateLinks(ctx).LinksCreation(*api.NewLinksCreation(links)).Execute())
	check(bulk.Results[1].Status == 201, "bulk")
	fmt.Println("bulk")

	seen, request := map[string]bool{}, client.LinksAPI.ListLinks(ctx).Limit(2)
	for {
		page := take(request.Execute())
		for _, each := range page.Links {
			seen[each.Slug] = true
		}
		if !page.Pagination.NextCursor.IsSet() || page.Pagination.NextCursor.Get() == nil {
			break
		}
		request = request.Cursor(*page.Pagination.NextCursor.Get())
	}
	check(len(seen) == 3, "links on all pages")
	fmt.Println("page")

	statistics := take(client.StatisticsAPI.GetLinkStatistics(ctx, link.Id).From("2026-01-01").Execute())
	check(statistics.RangeStatistics != nil && statistics.RangeStatistics.Humans == 0, "statistics")
	fmt.Println("statistics")
	take(client.SharesAPI.CreateShare(ctx).ShareCreation(api.ShareCreation{LinkId: *api.NewNullableInt64(&link.Id)}).Execute())

	fmt.Println("share")

	// Its methods parse JSON only.
	text := func(path string) *bufio.Reader {
		get, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		get.Header.Set("Authorization", "Bearer "+login.AccessToken)
		answer, err := http.DefaultClient.Do(get)
		check(err == nil && answer.StatusCode == 200, path)
		return bufio.NewReader(answer.Body)
	}
	_, err := text(fmt.Sprintf("/api/links/%d/visits?format=csv", link.Id)).ReadString('\n')
	check(err == nil, "csv")
	fmt.Println("csv: by net/http, because its methods parse JSON only")
	_, err = text("/api/live").ReadString('\n')
	check(err == nil, "live")
	fmt.Println("live: by net/http, because its methods parse JSON only")
}
