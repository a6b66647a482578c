package mantis

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"net/http"
	"regexp"
	"strings"
)

// Where a page holds a token: in a hidden field, or in a link.
var (
	tokenField = regexp.MustCompile(`name="([a-zA-Z_]+)_token" value="([^"]*)"`)
	tokenLink  = regexp.MustCompile(`([?;&])([a-zA-Z_]+)_token=([^"&]+)`)
)

// page sends a page. Every token in it is replaced by a fresh one that the session
// knows, and the address at which the page was recorded by this replay's.
func (x *exchange) page(status int, html []byte) {
	issued := map[string]string{}
	fresh := func(form, recorded string) string {
		key := form + " " + recorded
		if issued[key] == "" {
			issued[key] = "20261130" + rand.Text()
			x.session.tokens[issued[key]] = form
		}
		return issued[key]
	}
	html = tokenField.ReplaceAllFunc(html, func(m []byte) []byte {
		p := tokenField.FindSubmatch(m)
		return []byte(`name="` + string(p[1]) + `_token" value="` + fresh(string(p[1]), string(p[2])) + `"`)
	})
	html = tokenLink.ReplaceAllFunc(html, func(m []byte) []byte {
		p := tokenLink.FindSubmatch(m)
		return []byte(string(p[1]) + string(p[2]) + "_token=" + fresh(string(p[2]), string(p[3])))
	})
	html = bytes.ReplaceAll(html, []byte(recordedAt), []byte(x.base))
	html = bytes.ReplaceAll(html, []byte("[[login]]"), []byte(cmp.Or(x.user.Login, "guest")))
	if !x.signedIn {
		offer := `<div id="breadcrumbs">anonymous <a href="/login_page.php?return=x">Login</a></div><div class="page-content">`
		html = bytes.Replace(html, []byte(`<div class="page-content">`), []byte(offer), 1)
	}
	x.w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(html)
}

// spend uses a token up. One that the session doesn't know, or knows for another
// form, is worth nothing.
func (x *exchange) spend(form, token string) bool {
	if token == "" || x.session.tokens[token] != form {
		return false
	}
	delete(x.session.tokens, token)
	return true
}

// login plays MantisBT's two pages, and says whether the request was one of theirs.
func (x *exchange) login() bool {
	get, post := x.r.Method == http.MethodGet, x.r.Method == http.MethodPost
	switch path := x.r.URL.Path; {
	case path == "/login_page.php" && get && x.signedIn, path == "/login_cookie_test.php":
		x.redirect("/my_view_page.php")
	case path == "/login_page.php" && get:
		x.page(http.StatusOK, x.pages.login)
	case path == "/login_password_page.php" && post:
		if !x.spend("login", x.r.FormValue("login_token")) {
			x.refuse("the token is not one of this form")
			return true
		}
		page := bytes.ReplaceAll(x.pages.password, []byte("[[username]]"), []byte(escape(x.r.FormValue("username"))))
		if x.plain {
			page = bytes.Replace(page, []byte(`type="password"`), []byte(`type="text"`), 1)
		}
		x.page(http.StatusOK, page)
	case path == "/login.php" && post:
		x.signIn()
	default:
		return false
	}
	return true
}

func (x *exchange) signIn() {
	if !x.spend("login", x.r.FormValue("login_token")) {
		x.refuse("the token is not one of this form")
		return
	}
	for _, u := range x.pages.Users {
		if u.Login == x.r.FormValue("username") && u.Password == x.r.FormValue("password") {
			id := strings.ToLower(rand.Text())
			x.logins[id] = u
			setCookie(x.w, "MANTIS_STRING_COOKIE", id)
			x.redirect("/login_cookie_test.php?return=my_view_page.php")
			return
		}
	}
	x.redirect("/login_page.php?error=1")
}
