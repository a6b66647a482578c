package browsertest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

const workshop = `<title>workshop</title><body style="height:4000px">
<style>#cover,#hole{position:absolute;left:0;top:2000px;width:100px;height:30px}#cover{z-index:2;background:#ccc}#far{position:absolute;top:3500px}</style>
<p id=log></p><script>
window.say = (s) => log.textContent += s + ";";
for (const k of ["click", "input", "change", "keydown", "submit"])
	addEventListener(k, (e) => { say(k + ":" + (e.target.id || e.target.tagName) + ":" + e.isTrusted + (e.key ? ":" + e.key : "")); if (k === "submit") e.preventDefault() }, true);
</script>
<button id=b>b</button><button id=far>far</button><button class=two>1</button><button class=two>2</button>
<button id=off disabled>off</button><button id=none style="display:none">none</button>
<button id=hole>hole</button><div id=cover></div>
<button id=run onclick="this.remove()" onmouseover="this.remove()">run</button>
<form><input id=text value=old><textarea id=area>old</textarea><input id=date type=date><input id=ro readonly><input id=num type=number><input id=short maxlength=3><div id=ed contenteditable>old</div>
<input id=box type=checkbox><input id=r1 type=radio name=r><label id=lab><input id=box2 type=checkbox> label</label>
<button id=go>go</button><select id=sel><option value=a>A<option value=b>B<option value=c disabled>C<option value=d>D<option value=d>D2</select></form>
<iframe id=fr style="margin:20px;border:7px solid;padding:5px" srcdoc="<button id=fb onclick='parent.say(` + "`frame`" + `)'>fb</button><input id=fi>"></iframe>
<div id=sh></div><script>sh.attachShadow({mode:"open"}).innerHTML="<button id=sb onclick='say(1)'>sb</button>"</script>
<a id=js href="javascript:void say('js')">js</a><a id=hash href="#x">hash</a><a id=down href="/down">down</a><a id=empty href="/204">204</a>
<a id=link href="/next">link</a><a id=bad href="/hit/x">bad</a>`

func testAct(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/shop", workshop)
	site.Handle("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	site.Handle("/down", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.bin")
		_, _ = w.Write([]byte("x"))
	})
	site.HTML("/next", "<title>next</title><body>next")
	p := open(t, s, refuseHits)
	for _, c := range []struct {
		name string
		step abi.Step
		log  string
		code abi.Code
	}{
		{"click", abi.Step{Op: abi.OpClick, Selector: "#b"}, "click:b:true;", ""},
		{"click-far", abi.Step{Op: abi.OpClick, Selector: "#far"}, "click:far:true;", ""},
		{"click-frame", abi.Step{Op: abi.OpClick, Selector: "#fb", Within: []string{"#fr"}}, "frame;", ""},
		{"click-shadow", abi.Step{Op: abi.OpClick, Selector: "#sb", Within: []string{"#sh"}}, "click:sh:true;1;", ""},
		{"click-js", abi.Step{Op: abi.OpClick, Selector: "#js"}, "click:js:true;js;", ""},
		{"click-hash", abi.Step{Op: abi.OpClick, Selector: "#hash"}, "click:hash:true;", ""},
		{"click-download", abi.Step{Op: abi.OpClick, Selector: "#down"}, "click:down:true;", ""},
		{"click-204", abi.Step{Op: abi.OpClick, Selector: "#empty"}, "click:empty:true;", ""},
		{"ambiguous", abi.Step{Op: abi.OpClick, Selector: ".two"}, "", abi.ErrTargetAmbiguous},
		{"missing", abi.Step{Op: abi.OpClick, Selector: "#gone"}, "", abi.ErrSelectorDrift},
		{"disabled", abi.Step{Op: abi.OpClick, Selector: "#off"}, "", abi.ErrSelectorDrift},
		{"invisible", abi.Step{Op: abi.OpClick, Selector: "#none"}, "", abi.ErrSelectorDrift},
		{"covered", abi.Step{Op: abi.OpClick, Selector: "#hole"}, "", abi.ErrCoveredBy},
		{"stale", abi.Step{Op: abi.OpClick, Selector: "#run"}, "", abi.ErrStaleRef},
		{"selector", abi.Step{Op: abi.OpClick, Selector: "["}, "", abi.ErrInvalidArgs},
		{"fill", abi.Step{Op: abi.OpFill, Selector: "#text", Value: "néw 田"}, "input:text:true;", ""},
		{"fill-area", abi.Step{Op: abi.OpFill, Selector: "#area", Value: "a\r\nb\n"}, "input:area:true;input:area:true;input:area:true;input:area:true;", ""},
		{"fill-empty", abi.Step{Op: abi.OpFill, Selector: "#text", Value: ""}, "keydown:text:true:Delete;input:text:true;", ""},
		{"fill-editable", abi.Step{Op: abi.OpFill, Selector: "#ed", Value: "new"}, "input:ed:true;", ""},
		{"fill-editable-lines", abi.Step{Op: abi.OpFill, Selector: "#ed", Value: "a\r\n\nb"}, "input:ed:true;" + strings.Repeat("keydown:ed:true:Enter;input:ed:true;", 2) + "input:ed:true;", ""},
		{"fill-editable-empty-line", abi.Step{Op: abi.OpFill, Selector: "#ed", Value: "\nb"}, "keydown:ed:true:Delete;input:ed:true;keydown:ed:true:Enter;input:ed:true;input:ed:true;", ""},
		{"fill-date", abi.Step{Op: abi.OpFill, Selector: "#date", Value: "2026-11-30"}, "input:date:false;change:date:false;", ""},
		{"fill-number", abi.Step{Op: abi.OpFill, Selector: "#num", Value: "x"}, "", abi.ErrUnsupportedAction},
		{"fill-short", abi.Step{Op: abi.OpFill, Selector: "#short", Value: "abcdef"}, "input:short:true;", abi.ErrUnsupportedAction},
		{"fill-read-only", abi.Step{Op: abi.OpFill, Selector: "#ro", Value: "x"}, "", abi.ErrSelectorDrift},
		{"fill-button", abi.Step{Op: abi.OpFill, Selector: "#b", Value: "x"}, "", abi.ErrUnsupportedAction},
		{"fill-frame", abi.Step{Op: abi.OpFill, Selector: "#fi", Within: []string{"#fr"}, Value: "x"}, "", ""},
		{"check", abi.Step{Op: abi.OpCheck, Selector: "#box", Checked: true}, "click:box:true;input:box:true;change:box:true;", ""},
		{"check-already", abi.Step{Op: abi.OpCheck, Selector: "#box"}, "", ""},
		{"check-radio", abi.Step{Op: abi.OpCheck, Selector: "#r1", Checked: true}, "click:r1:true;input:r1:true;change:r1:true;", ""},
		{"check-button", abi.Step{Op: abi.OpCheck, Selector: "#b", Checked: true}, "", abi.ErrUnsupportedAction},
		{"select", abi.Step{Op: abi.OpSelect, Selector: "#sel", Value: "b"}, "input:sel:false;change:sel:false;", ""},
		{"select-none", abi.Step{Op: abi.OpSelect, Selector: "#sel", Value: "z"}, "", abi.ErrSelectorDrift},
		{"select-disabled", abi.Step{Op: abi.OpSelect, Selector: "#sel", Value: "c"}, "", abi.ErrSelectorDrift},
		{"select-two", abi.Step{Op: abi.OpSelect, Selector: "#sel", Value: "d"}, "", abi.ErrTargetAmbiguous},
		{"press", abi.Step{Op: abi.OpPress, Selector: "#text", Key: "a"}, "keydown:text:true:a;input:text:true;", ""},
		{"press-enter", abi.Step{Op: abi.OpPress, Selector: "#text", Key: "Enter"}, "keydown:text:true:Enter;click:go:true;submit:FORM:true;", ""},
		{"press-unknown", abi.Step{Op: abi.OpPress, Selector: "#text", Key: "Meta+q"}, "", abi.ErrInvalidArgs},
		{"no-act", abi.Step{Op: abi.OpExtract}, "", abi.ErrUnsupportedAction},
	} {
		t.Run(c.name, func(t *testing.T) {
			visit(t, p, site.URL("app", "/shop"))
			if err := p.Wait(deadline(t), []string{"#fr"}, "#fi", "", 0); err != nil {
				t.Fatal(err)
			}
			err := p.Act(deadline(t), c.step, "")
			if c.code != "" {
				wantCode(t, err, c.code)
			} else if err != nil {
				t.Fatal(err)
			}
			wantLog(t, p, c.log)
		})
	}
	t.Run("link", func(t *testing.T) { testActLink(t, p, site) })
}

func testActLink(t *testing.T, p *browser.Page, site *Site) {
	visit(t, p, site.URL("app", "/shop"))
	err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: "#bad"}, "")
	wantCode(t, err, abi.ErrOriginDenied)
	if site.Saw("/hit/") {
		t.Error("the refused link reached the server")
	}
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "workshop" {
		t.Errorf("after the refusal the tab is at %v, %v", info, err)
	}
	if err := p.Act(deadline(t), abi.Step{Op: abi.OpClick, Selector: "#link"}, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := p.Info(deadline(t)); err != nil || info.Title != "next" {
		t.Errorf("after the click the tab is at %v, %v", info, err)
	}
	for _, h := range site.Hits() {
		if h.Path == "/next" && h.Header.Get("Referer") != site.URL("app", "/shop") {
			t.Errorf("the click sent the referrer %q", h.Header.Get("Referer"))
		}
	}
}

// wantLog waits until the page has seen what it should, since a page may learn
// of a step a moment later.
func wantLog(t *testing.T, p *browser.Page, want string) {
	t.Helper()
	var log string
	var err error
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		if log, _, err = p.Text(deadline(t), nil, "#log", ""); err != nil || log == want {
			break
		}
		<-tick.C
	}
	if err != nil || log != want {
		t.Errorf("the page saw %q, %v, want %q", log, err, want)
	}
}
