package browsertest

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func testRead(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/read", `<title>  Read
 me </title><body><p id=user title=ada>Ada
  L.</p><p class=two>a</p><p class=two>b</p><div id=u>éé</div>`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/read"))
	ctx := deadline(t)
	if info, err := p.Info(ctx); err != nil || info.Title != "Read me" || info.URL != site.URL("app", "/read") {
		t.Errorf("Info = %+v, %v", info, err)
	}
	for sel, want := range map[string]bool{"#user": true, ".two": true, "#gone": false} {
		if got, err := p.Exists(ctx, nil, sel); err != nil || got != want {
			t.Errorf("Exists(%q) = %v, %v", sel, got, err)
		}
	}
	_, err := p.Exists(ctx, nil, "p[")
	wantCode(t, err, abi.ErrInvalidArgs)
	if text, found, err := p.Text(ctx, nil, "#user", ""); err != nil || !found || text != "Ada L." {
		t.Errorf("Text = %q, %v, %v", text, found, err)
	}
	if text, found, err := p.Text(ctx, nil, "#user", "title"); err != nil || !found || text != "ada" {
		t.Errorf("Text = %q, %v, %v", text, found, err)
	}
	if _, found, err := p.Text(ctx, nil, "#gone", ""); err != nil || found {
		t.Errorf("Text of nothing: %v, %v", found, err)
	}
	_, _, err = p.Text(ctx, nil, ".two", "")
	wantCode(t, err, abi.ErrTargetAmbiguous)
	if html, cut, err := p.HTML(ctx, nil, "#u", 0); err != nil || cut || html != `<div id="u">éé</div>` {
		t.Errorf("HTML = %q, %v, %v", html, cut, err)
	}
	if html, cut, err := p.HTML(ctx, nil, "#u", 15); err != nil || !cut || html != `<div id="u">é` {
		t.Errorf("HTML = %q, %v, %v", html, cut, err)
	}
	if html, _, err := p.HTML(ctx, nil, "", 0); err != nil || !strings.HasPrefix(html, "<html>") {
		t.Errorf("HTML of all = %.40q, %v", html, err)
	}
	_, _, err = p.HTML(ctx, nil, "#gone", 0)
	wantCode(t, err, abi.ErrSelectorDrift)
	t.Run("wait", func(t *testing.T) { testWait(t, s) })
}

func testWait(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/wait", `<body><p id=hidden style="display:none">x</p><p id=here>y</p><style id=st>#later{visibility:hidden}</style><p id=later>z</p>
<iframe id=fr></iframe><script>
setTimeout(() => { const e = document.createElement("p"); e.id = "added"; document.body.append(e) }, 200);
setTimeout(() => st.remove(), 250);
setTimeout(() => here.remove(), 300);
setTimeout(() => fr.srcdoc = "<p id=inner>i", 300);
</script>`)
	site.HTML("/first", `<body><script>setTimeout(() => location = "/second", 300)</script>`)
	site.HTML("/second", `<body><script>setTimeout(() => document.body.innerHTML = "<p id=goal>", 300)</script>`)
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/wait"))
	for _, c := range []struct {
		sel    string
		within []string
		state  abi.WaitState
		code   abi.Code
	}{
		{"#added", nil, "", ""},
		{"#hidden", nil, abi.StateAttached, ""},
		{"#hidden", nil, abi.StateVisible, abi.ErrTimeout},
		{"#later", nil, abi.StateVisible, ""},
		{"#here", nil, abi.StateDetached, ""},
		{"#added", nil, abi.StateDetached, abi.ErrTimeout},
		{"#inner", []string{"#fr"}, abi.StateVisible, ""},
		{"#never", nil, "", abi.ErrTimeout},
		{"#never", nil, abi.StateDetached, ""},
		{"p[", nil, "", abi.ErrInvalidArgs},
	} {
		timeout := limit / 2
		if c.code == abi.ErrTimeout {
			timeout = 300 * time.Millisecond
		}
		err := p.Wait(deadline(t), c.within, c.sel, c.state, timeout)
		if c.code != "" {
			wantCode(t, err, c.code)
		} else if err != nil {
			t.Errorf("Wait(%q, %q): %v", c.sel, c.state, err)
		}
	}
	visit(t, p, site.URL("app", "/first"))
	if err := p.Wait(deadline(t), nil, "#goal", abi.StateAttached, 0); err != nil {
		t.Errorf("waiting across documents: %v", err)
	}
}
