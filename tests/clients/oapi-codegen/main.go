// One journey through the API with the client that oapi-codegen makes of the description.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/oapi-codegen/nullable"

	"journey/api"
)

// What an event of the live stream has as data, which skip-prune keeps.
var _ api.LiveVisit

// check ends the journey unless err is nil and the call was answered by status.
func check(err error, what string, got, status int) {
	if err != nil || got != status {
		panic(fmt.Sprintf("%s: %d, %v", what, got, err))
	}
}

func main() {
	base, email, ctx := os.Args[1], os.Args[2], context.Background()
	token := ""
	client, err := api.NewClientWithResponses(base, api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}))
	if err != nil {
		panic(err)
	}
	password := "correct horse battery"
	registered, err := client.RegisterWithResponse(ctx, api.Registration{Email: email, Password: password})
	check(err, "register", registered.StatusCode(), 201)
	login, err := client.LoginWithResponse(ctx, api.Credentials{Email: email, Password: password})
	check(err, "login", login.StatusCode(), 200)
	token = login.JSON200.AccessToken
	fmt.Println("register")

	created, err := client.CreateLinkWithResponse(ctx, nil, api.LinkCreation{OriginalUrl: "https://example.com/1"})
	check(err, "create", created.StatusCode(), 201)
	fmt.Println("create")

	links := []api.LinkCreation{{OriginalUrl: "https://example.com/2"}, {OriginalUrl: "https://example.com/3"}}
	bulk, err := client.CreateLinksWithResponse(ctx, nil, api.LinksCreation{Links: links})
	check(err, "bulk", bulk.StatusCode(), 200)
	check(nil, "item of bulk", bulk.JSON200.Results[1].Status, 201)
	fmt.Println("bulk")

	seen, limit, params := map[string]bool{}, 2, api.ListLinksParams{}
	for params.Limit = &limit; ; {
		page, err := client.ListLinksWithResponse(ctx, &params)
		check(err, "page", page.StatusCode(), 200)
		for _, link := range page.JSON200.Links {
			seen[link.Slug] = true
		}
		cursor, err := page.JSON200.Pagination.NextCursor.Get()
		if err != nil {
			break
		}
		params.Cursor = &cursor
	}
	check(nil, "links on all pages", len(seen), 3)
	fmt.Println("page")

	id := created.JSON201.Link.Id
	from := "2026-01-01"
	statistics, err := client.GetLinkStatisticsWithResponse(ctx, id, &api.GetLinkStatisticsParams{From: &from})
	check(err, "statistics", statistics.StatusCode(), 200)
	sums, err := statistics.JSON200.AsRangeStatistics()
	check(err, "visits", int(sums.Humans), 0)
	fmt.Println("statistics")

	csv := api.ListVisitsParamsFormat("csv")
	visits, err := client.ListVisitsWithResponse(ctx, id, &api.ListVisitsParams{Format: &csv})
	check(err, "csv", visits.StatusCode(), 200)
	check(nil, "header of the CSV", strings.Count(string(visits.Body), "\n"), 1)
	fmt.Println("csv")

	share, err := client.CreateShareWithResponse(ctx, api.ShareCreation{LinkId: nullable.NewNullableWithValue(id)})
	check(err, "share", share.StatusCode(), 201)
	fmt.Println("share")

	live, err := client.StreamVisits(ctx, nil)
	check(err, "live", live.StatusCode, 200)
	if _, err := bufio.NewReader(live.Body).ReadString('\n'); err != nil {
		panic(err)
	}
	live.Body.Close()
	fmt.Println("live")
}
