package mantis

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const perPage = 50

// setFilter keeps a filter in the session, under a fresh key.
func (x *exchange) setFilter() {
	q := x.r.URL.Query()
	if q.Get("temporary") != "y" || q.Get("type") != "1" {
		x.harm = append(x.harm, "GET /view_all_set.php?"+x.r.URL.RawQuery)
	}
	if q.Get("view_type") != "advanced" { // the simple view shows the project chosen last in this browser
		q.Del("project_id[]")
		if c, err := x.r.Cookie("MANTIS_PROJECT_COOKIE"); err == nil {
			q.Set("project_id[]", c.Value)
		}
	}
	key := fmt.Sprintf("6b0d%09x", 0x83ae7e254+len(x.session.filters))
	x.session.filters[key] = q
	x.redirect("/view_all_bug_page.php?filter=" + key)
}

func (x *exchange) list() {
	q := x.r.URL.Query()
	filter, ok := x.session.filters[q.Get("filter")]
	if !ok {
		x.fault(http.StatusBadRequest, 27, "The filter was not found.")
		return
	}
	var rows []row
	for _, r := range x.pages.rows {
		if x.shows(filter, r) {
			rows = append(rows, r)
		}
	}
	sortRows(rows, filter)
	page, err := strconv.Atoi(q.Get("page_number"))
	last := max(1, (len(rows)+perPage-1)/perPage)
	if err != nil || page < 1 {
		page = 1
	}
	page = min(page, last) // behind the last page is the last one
	from, to := (page-1)*perPage, min(page*perPage, len(rows))
	heading := fmt.Sprintf(" %d - %d / %d", min(from+1, to), to, len(rows))
	x.page(http.StatusOK, x.pages.listPage(heading, rows[from:to]))
}

// shows reports whether a filter lets a row through. It knows what the connector
// asks for, and no more.
func (x *exchange) shows(filter url.Values, r row) bool {
	if hide, err := strconv.Atoi(filter.Get("hide_status")); err == nil && hide > 0 && r.status >= hide {
		return false
	}
	if only := filter.Get("status[]"); only != "" && only != strconv.Itoa(r.status) {
		return false
	}
	switch h := filter.Get("handler_id[]"); h {
	case "":
	case "-1":
		if r.handler != x.user.ID {
			return false
		}
	case "-2":
		if r.handler != 0 {
			return false
		}
	default:
		if h != strconv.Itoa(r.handler) {
			return false
		}
	}
	if p := filter.Get("project_id[]"); p != "" && p != "0" && x.pages.projectNames[p] != r.project {
		return false
	}
	return strings.Contains(strings.ToLower(r.summary), strings.ToLower(filter.Get("search")))
}

func sortRows(rows []row, filter url.Values) {
	slices.SortStableFunc(rows, func(a, b row) int {
		by := a.id - b.id
		if filter.Get("sort") == "last_updated" {
			by = b.place - a.place
		}
		if filter.Get("dir") == "DESC" {
			by = -by
		}
		return by
	})
}
