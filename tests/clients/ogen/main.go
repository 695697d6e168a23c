// One journey through the API with the client that ogen makes of the description.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"

	"journey/api"

	"github.com/ogen-go/ogen/ogenerrors"
)

// credentials is what the client asks before each call: one of these suffices.
type credentials struct{ token string }

func (c *credentials) AccessToken(context.Context, api.OperationName) (api.AccessToken, error) {
	return api.AccessToken{Token: c.token}, nil
}

func (c *credentials) ApiKey(context.Context, api.OperationName) (api.ApiKey, error) {
	return api.ApiKey{}, ogenerrors.ErrSkipClientSecurity
}

func (c *credentials) SessionCookie(context.Context, api.OperationName) (api.SessionCookie, error) {
	return api.SessionCookie{}, ogenerrors.ErrSkipClientSecurity
}

func (c *credentials) ShareAccess(context.Context, api.OperationName) (api.ShareAccess, error) {
	return api.ShareAccess{}, ogenerrors.ErrSkipClientSecurity
}

func check(is bool, what any) {
	if !is {
		panic(fmt.Sprintf("%+v", what))
	}
}

// want returns the answer as the type of the status that is expected, and ends the journey if it is another.
func want[T any](answer any, err error) T {
	check(err == nil, err)
	wanted, is := answer.(T)
	check(is, answer)
	return wanted
}

func main() {
	base, email, password, ctx := os.Args[1], api.Email(os.Args[2]), "correct horse battery", context.Background()
	login := &credentials{}
	client, err := api.NewClient(base, login)
	check(err == nil, err)
	registered, err := client.Register(ctx, &api.Registration{Email: email, Password: api.Password(password)})
	want[*api.UserAnswerHeaders](registered, err)
	answer, err := client.Login(ctx, &api.Credentials{Email: email, Password: password})
	login.token = want[*api.TokenAnswerHeaders](answer, err).Response.AccessToken
	fmt.Println("register")

	created, err := client.CreateLink(ctx, &api.LinkCreation{OriginalURL: "https://example.com/1"}, api.CreateLinkParams{})
	id := want[*api.CreateLinkCreatedHeaders](created, err).Response.Link.ID
	fmt.Println("create")

	links := []api.LinkCreation{{OriginalURL: "https://example.com/2"}, {OriginalURL: "https://example.com/3"}}
	bulk, err := client.CreateLinks(ctx, &api.LinksCreation{Links: links}, api.CreateLinksParams{})
	check(want[*api.BulkDoneHeaders](bulk, err).Response.Results[1].Status == 201, bulk)
	fmt.Println("bulk")

	seen, params := map[api.Slug]bool{}, api.ListLinksParams{Limit: api.NewOptInt(2)}
	for more := true; more; {
		answer, err := client.ListLinks(ctx, params)
		page := want[*api.LinkListHeaders](answer, err).Response
		for _, link := range page.Links {
			seen[link.Slug] = true
		}
		cursor, is := page.Pagination.NextCursor.Get()
		params.Cursor, more = api.NewOptString(cursor), is
	}
	check(len(seen) == 3, "links on all pages")
	fmt.Println("page")

	from := api.NewOptMoment("2026-01-01")
	statistics, err := client.GetLinkStatistics(ctx, api.GetLinkStatisticsParams{ID: id, From: from})
	sums, is := want[*api.GetLinkStatisticsOKHeaders](statistics, err).Response.GetRangeStatistics()
	check(is && sums.Humans == 0, statistics)
	fmt.Println("statistics")

	format := api.NewOptListVisitsFormat(api.ListVisitsFormatCsv)
	visits, err := client.ListVisits(ctx, api.ListVisitsParams{ID: id, Format: format})
	line, err := bufio.NewReader(want[*api.ListVisitsOKTextCsvHeaders](visits, err).Response).ReadString('\n')
	check(err == nil, line)
	fmt.Println("csv")

	share, err := client.CreateShare(ctx, &api.ShareCreation{LinkID: api.NewOptNilInt64(id)})
	want[*api.ShareCreationAnswerHeaders](share, err)
	fmt.Println("share")

	get, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/live", nil)
	get.Header.Set("Authorization", "Bearer "+login.token)
	live, err := http.DefaultClient.Do(get)
	check(err == nil && live.StatusCode == 200, live)
	_, err = bufio.NewReader(live.Body).ReadString('\n')
	check(err == nil, err)
	fmt.Println("live: by net/http, because what ogen generates for it does not compile")
}
