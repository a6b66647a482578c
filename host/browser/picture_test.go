package browser_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

const painted = `<title>painted</title><style>body{margin:0;background:#fff}input,iframe{position:absolute;border:0;background:#f00;width:100px;height:40px}
#block{position:absolute;left:300px;top:0;width:200px;height:100px;background:#00f}</style><body>
<div id=block></div>
<input id=otp autocomplete="one-time-code" value=123456 style="left:0;top:0">
<input type=password value=hunter2 style="left:0;top:100px">
<input type=text name=shown_password value=hunter2 style="left:0;top:200px">
<input id=plain value=open style="left:0;top:300px">
<iframe src="http://other.localhost:{port}/red" style="left:150px;top:0"></iframe>
<iframe id=same srcdoc="<body style='margin:0;background:#0f0'><input autocomplete=one-time-code style='position:absolute;left:50px;top:0;width:50px;height:40px;border:0'>" style="left:150px;top:100px"></iframe>`

func TestScreenshot(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/painted", painted)
	site.HTML("/red", `<body style="background:#f00">`)
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/painted"))
	if err := p.Wait(deadline(t), []string{"#same"}, "input", "", 0); err != nil {
		t.Fatal(err)
	}
	pic, img := shot(t, p, "")
	if pic.MIME != "image/png" || img.Bounds().Dx() != pic.Width || img.Bounds().Dy() != pic.Height || pic.Width < 600 {
		t.Errorf("the picture is a %s of %d by %d", pic.MIME, pic.Width, pic.Height)
	}
	gray, red, green, blue := rgb(0x60, 0x60, 0x60), rgb(255, 0, 0), rgb(0, 255, 0), rgb(0, 0, 255)
	for name, c := range map[string]struct {
		x, y int
		want color.Color
	}{
		"one-time code": {50, 20, gray}, "password": {50, 120, gray}, "shown password": {50, 220, gray},
		"edge of it": {101, 241, gray}, "plain field": {90, 305, red}, "block": {400, 50, blue},
		"other origin": {200, 20, gray}, "own frame": {165, 120, green}, "code in own frame": {225, 120, gray}, "paper": {600, 400, rgb(255, 255, 255)},
	} {
		if got := img.At(c.x, c.y); got != color.RGBAModel.Convert(c.want) && color.RGBAModel.Convert(got) != c.want {
			t.Errorf("%s at %d,%d is %v, want %v", name, c.x, c.y, got, c.want)
		}
	}
	if pic, img := shot(t, p, "#block"); pic.Width != 200 || pic.Height != 100 || color.RGBAModel.Convert(img.At(100, 50)) != blue {
		t.Errorf("the block's picture is %d by %d", pic.Width, pic.Height)
	}
	for selector, code := range map[string]abi.Code{"#gone": abi.ErrSelectorDrift, "input": abi.ErrTargetAmbiguous, "title": abi.ErrSelectorDrift, "[": abi.ErrInvalidArgs} {
		_, err := p.Screenshot(deadline(t), nil, selector)
		wantCode(t, err, code)
	}
}

// TestScreenshotFits has a page that no PNG holds in a megabyte.
// What a page puts where the helper can't look, or draws otherwise than it stands
// in its frame, is painted over all the same.
const veiled = `<title>veiled</title><style>body{margin:0;background:#fff;height:3000px}iframe,.h{position:absolute;border:0;width:100px;height:40px}</style><body>
<div class=h id=shut style="left:0;top:1000px"></div>
<div class=h style="left:0;top:1100px"><template shadowrootmode=closed><div id=open></div><textarea name=x style="all:unset;position:absolute;inset:0;background:#f00"></textarea></template></div>
<div class=h id=nested style="left:0;top:1200px"></div>
<iframe id=big srcdoc="{field}" style="left:200px;top:1000px;transform:scale(2);transform-origin:0 0"></iframe>
<div style="transform:scaleX(-1);position:absolute;left:200px;top:1100px;width:100px"><iframe id=mirrored srcdoc="{field}" style="left:0;top:0"></iframe></div>
<iframe id=far srcdoc="<body><div id=c></div><script>c.attachShadow({mode:'closed'}).innerHTML='<input style=position:absolute;inset:0;background:red>'</script>" style="left:200px;top:1200px"></iframe>
<iframe id=plain srcdoc="{field}" style="left:200px;top:1300px"></iframe>
<script>const field = "<input style='all:unset;position:absolute;inset:0;background:#f00'>";
shut.attachShadow({mode:"closed"}).innerHTML = field;
const inner = document.createElement("div"); inner.attachShadow({mode:"open"}).innerHTML = field;
nested.attachShadow({mode:"closed"}).append(inner);
scrollTo(0, 950)</script>`

func TestScreenshotOfVeiledFields(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/veiled", strings.ReplaceAll(veiled, "{field}", "<body style='margin:0;background:#0f0'><input name=otp style='all:unset;position:absolute;left:50px;top:0;width:50px;height:40px;background:#f00'>"))
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/veiled"))
	for _, frame := range []string{"#big", "#mirrored", "#far", "#plain"} {
		if err := p.Wait(deadline(t), []string{frame}, "body", "", 0); err != nil {
			t.Fatal(err)
		}
	}
	_, img := shot(t, p, "")
	gray, green := rgb(0x60, 0x60, 0x60), rgb(0, 255, 0)
	for name, c := range map[string]struct {
		x, y int
		want color.Color
	}{
		"closed": {50, 70, gray}, "declared": {50, 170, gray}, "open in closed": {50, 270, gray},
		"scaled frame": {380, 110, gray}, "mirrored frame": {220, 170, gray}, "closed in a frame": {250, 270, gray},
		"plain frame": {220, 370, green}, "field in it": {280, 370, gray},
	} {
		if got := color.RGBAModel.Convert(img.At(c.x, c.y)); got != c.want {
			t.Errorf("%s at %d,%d is %v, want %v", name, c.x, c.y, got, c.want)
		}
	}
}

func TestScreenshotFits(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/noise", `<title>noise</title><body style="margin:0"><canvas id=c width=1600 height=1200></canvas><script>
const g = c.getContext("2d"), d = g.createImageData(1600, 1200);
let s = 1; for (let i = 0; i < d.data.length; i++) d.data[i] = i % 4 == 3 ? 255 : (s = Math.imul(s, 1664525) + 1013904223 | 0) >>> 24;
g.putImageData(d, 0, 0);</script>`)
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/noise"))
	pic, img := shot(t, p, "")
	if len(pic.Data) > abi.MaxImage || pic.MIME != "image/jpeg" || img.Bounds().Dx() != pic.Width {
		t.Errorf("%d bytes of %s, %d wide", len(pic.Data), pic.MIME, pic.Width)
	}
}

// TestScreenshotMoving has a field that never stands still.
func TestScreenshotMoving(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/moving", `<title>moving</title><body><input type=password id=i style="position:absolute"><script>
let n = 0; setInterval(() => i.style.left = (n++ % 500) + "px", 1)</script>`)
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/moving"))
	_, err := p.Screenshot(deadline(t), nil, "")
	wantCode(t, err, abi.ErrStaleRef)
}

func TestScreenshotOfAUsersBrowser(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/a", "<body>a")
	u := startUsers(t, quietProfile(t))
	p := open(t, attach(deadline(t), t, browser.AttachOptions{Profile: u.dir}))
	visit(t, p, site.URL("app", "/a"))
	_, err := p.Screenshot(deadline(t), nil, "")
	wantCode(t, err, abi.ErrUnsupportedAction)
	var e *abi.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "snapshot") {
		t.Errorf("the error has no way out: %+v", e)
	}
}

func shot(t *testing.T, p *browser.Page, selector string) (browser.Picture, image.Image) {
	t.Helper()
	pic, err := p.Screenshot(deadline(t), nil, selector)
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(pic.Data))
	if err != nil {
		t.Fatal(err)
	}
	return pic, img
}

func rgb(r, g, b uint8) color.Color { return color.RGBA{r, g, b, 255} }

func TestMarkupHoldsNoPassword(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/form", `<title>form</title><body><form><input name=a value=open><input name=p type=password data-x=' value="q"' value='hunter"2'><input type=password value='$&hunter3'><input type=PASSWORD></form>
<script>document.querySelector("[type=PASSWORD]").setAttribute("value", "hunter4")</script>`)
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/form"))
	for _, selector := range []string{"form", "[name=p]", ""} {
		html, _, err := p.HTML(deadline(t), nil, selector, 0)
		if err != nil || selector != "" && strings.Contains(html, "hunter") || strings.Contains(html, `hunter&quot;2`) || !strings.Contains(html, `data-x=" value=&quot;q&quot;"`) {
			t.Errorf("the markup of %q is %s, %v", selector, html, err)
		}
		if selector != "[name=p]" && !strings.Contains(html, `value="open"`) {
			t.Errorf("the markup of %q lacks what is no secret: %s", selector, html)
		}
	}
}

const told = `<title>told</title><body><header><nav aria-label=Main><a href=/x>Home</a> <a href=/y>Issues</a></nav></header>
<main><h1>Issue  12</h1><p>Crash on <b>save</b>, since <a href=/z>yesterday</a>.</p>
<table><tr><th>id<th>title<tr><td>1<td>One &amp; two</table>
<ul><li>first<li>second <button>Edit</button></ul>
<form aria-labelledby=t><h2 id=t>Sign in</h2><input name=children value=clobber>
<label>Name <input value=ada></label><label>Password <input type=password value=hunter2></label>
<label>Code <input autocomplete="one-time-code" value=123456></label><input name=user_pwd placeholder=Shown value=hunter3>
<input type=hidden value=token-1><label><input type=checkbox checked> Stay</label><select aria-label=State><option>open<option selected>closed</select>
<textarea aria-label=Note>a note</textarea><input type=submit value=Go disabled></form>
<div hidden>hidden-1</div><div style="display:none">hidden-2</div><div aria-hidden=true>hidden-3</div><script>"script-1"</script>
<img alt=Chart src=data:,><details><summary>More</summary>inside</details><div role=alert>Saved</div>
<div id=sh></div><iframe id=fr srcdoc="<p>in the frame</p><input type=password value=hunter4>"></iframe></main>
<div id=fake><input type=password role=button value=hunter5><input type=password role=heading value=hunter6><textarea role=button autocomplete=one-time-code>hunter7</textarea>
<input aria-labelledby=code name=named><textarea id=code autocomplete=one-time-code>hunter8</textarea></div>
<script>sh.attachShadow({mode:"open"}).innerHTML="<button>in the shadow</button>"</script>`

func TestSnapshot(t *testing.T) {
	site := browsertest.NewSite(t)
	site.HTML("/told", told)
	p := open(t, shared(t))
	defer func() { _ = p.Close() }()
	visit(t, p, site.URL("app", "/told"))
	if err := p.Wait(deadline(t), []string{"#fr"}, "p", "", 0); err != nil {
		t.Fatal(err)
	}
	text, cut, err := p.Snapshot(deadline(t), nil, "", 0)
	if err != nil || cut {
		t.Fatal(cut, err)
	}
	golden.Check(t, "testdata/snapshot.txt", []byte(text+"\n"))
	for _, never := range []string{"hunter", "123456", "token-1", "hidden-", "script-1"} {
		if strings.Contains(text, never) {
			t.Errorf("the snapshot tells %q", never)
		}
	}
	again, _, err := p.Snapshot(deadline(t), nil, "", 0)
	if err != nil || again != text {
		t.Errorf("asked again it tells something else: %v", err)
	}
	short, cut, err := p.Snapshot(deadline(t), nil, "", 100)
	if err != nil || !cut || len(short) > 100 || !strings.HasPrefix(text, short) {
		t.Errorf("a short one is %q, %t, %v", short, cut, err)
	}
	one, _, err := p.Snapshot(deadline(t), nil, "table", 0)
	if err != nil || !strings.HasPrefix(one, "- table") || strings.Contains(one, "Issue") {
		t.Errorf("of the table: %q, %v", one, err)
	}
	_, _, err = p.Snapshot(deadline(t), nil, "#gone", 0)
	wantCode(t, err, abi.ErrSelectorDrift)
}
