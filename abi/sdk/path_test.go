package sdk_test

import (
	"net/url"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

func TestPath(t *testing.T) {
	for _, tt := range []struct {
		got, want string
	}{
		{sdk.Path("/issues"), "/issues"},
		{sdk.Path("/issues", "status", "open", "page", ""), "/issues?status=open"},
		{sdk.Path("/issues", "a", "", "b", "x y&z=1#?+%"), "/issues?b=x%20y%26z%3D1%23%3F%2B%25"},
		{sdk.Path("/w/"+sdk.Segment("a/b ü"), "q", "ß"), "/w/a%2Fb%20%C3%BC?q=%C3%9F"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("name", "a&b=c;d\x00ü")
	f.Fuzz(func(t *testing.T, name, value string) {
		u, err := url.Parse(sdk.Path("/x/"+sdk.Segment(value), name, value))
		if err != nil {
			t.Fatal(err)
		}
		if u.Path != "/x/"+value {
			t.Errorf("path is %q, want %q", u.Path, value)
		}
		if got := u.Query(); value != "" && (len(got) != 1 || got.Get(name) != value) {
			t.Errorf("query is %v, want %q", got, value)
		}
	})
}
