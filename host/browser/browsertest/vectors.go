package browsertest

import (
	"net/http"
	"net/url"
	"strings"
)

// A vector is one way in which a page makes a browser send a request. Its goal
// is /hit/<name> on the server; everything else that it asks for is allowed.
type vector struct {
	name string
	// page is the document; "{hit}" stands for the goal's path, "{port}" for the
	// server's port.
	page   string
	header map[string]string
	click  bool // the page's button has to be clicked
	leave  bool // the tab has to go elsewhere
	// silent: the guard stops it without a refusal of the goal, and the page
	// says that it has tried: by setting data-done on its root element, or by
	// asking for /tried.
	silent bool
	// off: no tab of the browser does it, whoever opened it.
	off bool
	// launchOff: so it is in a browser that was launched.
	launchOff bool
	// absent: a tab in a browser that was attached to does not even try, or what
	// it tries in has gone by then.
	absent bool
	// instead is what is refused when the goal is never asked for: the script of
	// a service worker, the address of a popup.
	instead string
}

const done = `document.documentElement.dataset.done=1`

func script(js string) string { return "<body><script>" + js + "</script>" }

func clicked(js string) string {
	return "<body><button id=go>go</button><script>document.querySelector('#go').onclick=()=>{" + js + "}</script>"
}

// vectors is every way known to us.
func vectors() []vector {
	other := "http://other.localhost:{port}"
	return []vector{
		// of the page itself
		{name: "form-top", page: `<body><form method=post action={hit}><input name=a value=1></form><script>document.forms[0].submit()</script>`},
		{name: "form-iframe", page: `<body><iframe name=f></iframe><form target=f method=post action={hit}></form><script>document.forms[0].submit()</script>`},
		{name: "xhr", page: script(`const x=new XMLHttpRequest();x.open('POST','{hit}');x.send('a')`)},
		{name: "xhr-sync", page: script(`const x=new XMLHttpRequest();x.open('POST','{hit}',false);try{x.send('a')}catch{}`)},
		{name: "fetch", page: script(`fetch('{hit}',{method:'POST',body:'a'})`)},
		{name: "fetch-put", page: script(`fetch('{hit}',{method:'PUT'})`)},
		{name: "fetch-delete", page: script(`fetch('{hit}',{method:'DELETE'})`)},
		{name: "fetch-keepalive", page: script(`fetch('{hit}',{method:'POST',keepalive:true})`)},
		{name: "fetch-cors", page: script(`fetch('` + other + `{hit}',{method:'POST',headers:{'X-A':'1'}})`)},
		{name: "fetch-redirect", page: script(`fetch('/redirect?to={hit}')`)},
		{name: "beacon", page: script(`navigator.sendBeacon('{hit}','a')`)},
		{name: "a-ping", page: `<body><a href=#x ping={hit}>x</a><script>document.querySelector('a').click()</script>`},
		{name: "csp-report", page: `<body><img src=/none>`, header: map[string]string{"Content-Security-Policy": "img-src 'none'; report-uri {hit}"}},
		{name: "timer", page: script(`setTimeout(()=>fetch('{hit}',{method:'POST'}),300)`)},
		{name: "eventsource", page: script(`new EventSource('{hit}')`)},
		{name: "location", page: script(`setTimeout(()=>{location='{hit}'},50)`)},
		{name: "meta-refresh", page: `<meta http-equiv=refresh content="0;url={hit}"><body>`},
		{name: "link-click", page: `<body><a href={hit}>x</a><script>document.querySelector('a').click()</script>`},
		{name: "redirect-iframe", page: `<body><iframe src="/redirect?to={hit}"></iframe>`},
		{name: "image", page: `<body><img src={hit}>`},
		{name: "css", page: `<body style="background:url({hit})">x`},
		{name: "stylesheet", page: `<link rel=stylesheet href={hit}><body>`},
		{name: "script", page: `<body><script src={hit}></script>`},
		{name: "module", page: `<body><script type=module>import '{hit}'</script>`},
		{name: "media", page: `<body><video src={hit} preload=auto></video>`},
		{name: "object", page: `<body><object data={hit}></object>`},
		{name: "prefetch", page: `<link rel=prefetch href={hit}><body>`},
		{name: "prerender", page: `<body><script type=speculationrules>{"prerender":[{"source":"list","urls":["{hit}"],"eagerness":"immediate"}]}</script><script>setTimeout(()=>fetch("/tried?{hit}"),1500)</script>`, silent: true, off: true},
		{name: "speculative-prefetch", page: `<body><script type=speculationrules>{"prefetch":[{"source":"list","urls":["{hit}"],"eagerness":"immediate"}]}</script><script>setTimeout(()=>fetch("/tried?{hit}"),1500)</script>`, silent: true, off: true},
		{name: "download", page: `<body><a id=go href={hit} download>x</a>`, click: true},
		{name: "modulepreload", page: `<link rel=modulepreload href={hit}><body>`},
		{name: "import-json", page: script(`import('{hit}',{with:{type:'json'}}).catch(()=>0)`)},
		{name: "embed", page: `<body><embed src={hit}>`},
		{name: "input-image", page: `<body><input type=image src={hit}>`},
		{name: "svg-use", page: `<body><svg><use href="{hit}#a"></use></svg>`},
		{name: "svg-image", page: `<body><svg><image href="{hit}"></image></svg>`},
		{name: "font", page: `<style>@font-face{font-family:f;src:url({hit})}</style><body style="font-family:f">x`},
		{name: "import-css", page: `<style>@import url({hit});</style><body>`},
		{name: "track", page: `<body><video><track default src={hit}></video><script>document.querySelector('video').textTracks[0].mode='showing'</script>`},
		{name: "cache-add", page: script(`caches.open('c').then(c=>c.add('{hit}'))`)},
		{name: "navigation-api", page: script(`setTimeout(()=>navigation.navigate('{hit}'),50)`)},
		{name: "parent-frame", page: `<body><iframe srcdoc="<a target=_parent href={hit}>x</a><script>document.querySelector('a').click()</script>"></iframe>`},
		{name: "payment", page: clicked(`const tried=()=>fetch("/tried?{hit}");try{new PaymentRequest([{supportedMethods:'http://app.localhost:{port}{hit}'}],{total:{label:'a',amount:{currency:'EUR',value:'1'}}}).show().catch(tried)}catch{tried()}setTimeout(tried,1500)`), click: true, silent: true},
		{name: "preload", page: `<link rel=preload as=image href={hit}><body>`},
		{name: "icon", page: `<link rel=icon href={hit}><body>`, absent: true},
		{name: "manifest", page: `<link rel=manifest href={hit}><body>`, absent: true},
		{name: "websocket", page: script(`const w=new WebSocket('ws://app.localhost:{port}{hit}');w.onerror=w.onopen=()=>{` + done + `}`), silent: true},
		{name: "websocket-stream", page: script(`(self.WebSocketStream?new WebSocketStream('ws://app.localhost:{port}{hit}').opened:new Promise((_,r)=>{new WebSocket('ws://app.localhost:{port}{hit}').onerror=r})).catch(()=>{` + done + `})`), silent: true},
		// on the way out
		{name: "pagehide-beacon", page: script(`addEventListener('pagehide',()=>navigator.sendBeacon('{hit}','a'))`), leave: true},
		{name: "unload-keepalive", page: script(`addEventListener('pagehide',()=>fetch('{hit}',{method:'POST',keepalive:true}))`), leave: true},
		{name: "fetch-later", page: script(`fetchLater('{hit}',{method:'POST',activateAfter:0})`), leave: true, absent: true},
		// frames
		{name: "frame-blank", page: script(`const i=document.createElement('iframe');document.body.append(i);i.contentWindow.fetch('{hit}',{method:'POST'})`)},
		{name: "frame-srcdoc", page: `<body><iframe srcdoc="<script>fetch('{hit}',{method:'POST'})</script>"></iframe>`},
		{name: "frame-blob", page: script(`const i=document.createElement('iframe');i.src=URL.createObjectURL(new Blob(["<script>fetch('http://app.localhost:{port}{hit}',{method:'POST'})</"+"script>"],{type:'text/html'}));document.body.append(i)`)},
		{name: "frame-same", page: `<body><iframe src="/js?fetch('{hit}',{method:'POST'})"></iframe>`},
		{name: "oopif-fetch", page: `<body><iframe src="` + other + `/js?fetch('{hit}',{method:'POST'})"></iframe>`},
		{name: "oopif-beacon", page: `<body><iframe src="` + other + `/js?navigator.sendBeacon('{hit}','a')"></iframe>`},
		{name: "oopif-form", page: `<body><iframe src="` + other + `/form?{hit}"></iframe>`},
		{name: "oopif-nested", page: `<body><iframe src="` + other + `/frame?/js?fetch('{hit}',{method:'POST'})"></iframe>`},
		{name: "oopif-worker", page: `<body><iframe src="` + other + `/js?new Worker('/post.js?{hit}')"></iframe>`},
		{name: "oopif-websocket", page: `<body><iframe src="` + other + `/js?const w=new WebSocket('ws://app.localhost:{port}{hit}');w.onerror=w.onopen=()=>fetch('/tried?{hit}')"></iframe>`, silent: true},
		// workers
		{name: "worker", page: script(`new Worker('/post.js?{hit}')`)},
		{name: "worker-blob", page: script(`new Worker(URL.createObjectURL(new Blob(["fetch('http://app.localhost:{port}{hit}',{method:'POST'})"])))`)},
		{name: "worker-import", page: script(`new Worker(URL.createObjectURL(new Blob(["importScripts('http://app.localhost:{port}{hit}')"])))`)},
		{name: "worker-nested", page: script(`new Worker('/nest.js?/post.js?{hit}')`)},
		{name: "worker-websocket", page: script(`new Worker('/socket.js?{hit}').onmessage=()=>{` + done + `}`), silent: true},
		{name: "worker-eventsource", page: script(`new Worker(URL.createObjectURL(new Blob(["new EventSource('http://app.localhost:{port}{hit}')"])))`)},
		{name: "shared-worker", page: script(`setTimeout(()=>fetch("/tried?{hit}"),1000);new SharedWorker('/post.js?{hit}')`), silent: true, launchOff: true},
		{name: "shared-worker-blob", page: script(`setTimeout(()=>fetch("/tried?{hit}"),1000);new SharedWorker(URL.createObjectURL(new Blob(["fetch('http://app.localhost:{port}{hit}',{method:'POST'})"])))`), silent: true, launchOff: true},
		{name: "shared-worker-websocket", page: script(`setTimeout(()=>fetch("/tried?{hit}"),1000);new SharedWorker('/socket.js?{hit}')`), silent: true, launchOff: true},
		{name: "service-worker", page: script(`navigator.serviceWorker.register('/sw.js?{hit}',{scope:'/sw-{name}/'})`), instead: "/sw.js", absent: true},
		// popups
		{name: "popup", page: clicked(`window.open('/js?fetch("{hit}",{method:"POST"})')`), click: true, instead: "/js", absent: true},
		{name: "popup-blank", page: clicked(`const w=window.open('');w.eval("fetch('{hit}',{method:'POST'})")`), click: true, absent: true},
		{name: "popup-script", page: clicked(`window.open('').document.write("<script>fetch('{hit}',{method:'POST'})</"+"script>")`), click: true, absent: true},
		{name: "popup-form", page: `<body><form target=_blank rel=opener method=post action={hit}><button id=go>go</button></form>`, click: true, absent: true},
		{name: "popup-form-noopener", page: `<body><form target=_blank rel=noopener method=post action={hit}><button id=go>go</button></form>`, click: true, absent: true},
		{name: "popup-link", page: `<body><a id=go href={hit} target=_blank>go</a>`, click: true, absent: true},
		{name: "popup-websocket", page: clicked(`const w=window.open('');const s=new w.WebSocket('ws://app.localhost:{port}{hit}');s.onerror=s.onopen=()=>{` + done + `}`), click: true, silent: true, absent: true},
	}
}

// isOff reports whether no tab of the subject does what v tries.
func (v vector) isOff(s Subject) bool { return v.off || v.launchOff && !s.Attached }

// differs reports whether a browser that was attached to may take another way
// than one that was launched: whatever a tab starts beyond its own frames.
func (v vector) differs() bool {
	if v.launchOff || v.absent || v.off || v.leave || v.click {
		return true
	}
	for _, kind := range []string{"worker", "oopif", "socket", "download"} {
		if strings.Contains(v.name, kind) {
			return true
		}
	}
	return false
}

// serveVectors puts the vectors' pages, and what they are made of, on a site.
func serveVectors(s *Site) {
	for _, v := range vectors() {
		fill := strings.NewReplacer("{hit}", "/hit/"+v.name, "{port}", s.port, "{name}", v.name)
		s.Handle("/v/"+v.name, func(w http.ResponseWriter, _ *http.Request) {
			for k, h := range v.header {
				w.Header().Set(k, fill.Replace(h))
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<!doctype html><title>" + v.name + "</title>" + fill.Replace(v.page)))
		})
		s.HTML("/hit/"+v.name, "<body>hit")
	}
	write := func(kind string, body func(q string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Service-Worker-Allowed", "/")
			q, err := url.PathUnescape(r.URL.RawQuery)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_, _ = w.Write([]byte(body(q)))
		}
	}
	s.Handle("/js", write("text/html", func(q string) string { return "<!doctype html><body><script>" + q + "</script>" }))
	s.Handle("/frame", write("text/html", func(q string) string {
		return `<!doctype html><body><iframe src="http://app.localhost:` + s.port + q + `"></iframe>`
	}))
	s.Handle("/form", write("text/html", func(q string) string {
		return "<!doctype html><body><form method=post action=" + q + "></form><script>document.forms[0].submit()</script>"
	}))
	s.Handle("/post.js", write("text/javascript", func(q string) string { return "fetch('" + q + "',{method:'POST'})" }))
	s.Handle("/nest.js", write("text/javascript", func(q string) string { return "new Worker('" + q + "')" }))
	s.Handle("/sw.js", write("text/javascript", func(q string) string {
		return "self.oninstall=e=>e.waitUntil(fetch('" + q + "',{method:'POST'}))"
	}))
	s.Handle("/socket.js", write("text/javascript", func(q string) string {
		return "const go=(p)=>{try{const w=new WebSocket('ws://app.localhost:" + s.port + q + "');w.onopen=w.onerror=()=>p.postMessage(1)}catch{p.postMessage(1)}};" +
			"if(self.onconnect===null)self.onconnect=(e)=>go(e.ports[0]);else go(self)"
	}))
	s.Handle("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	s.HTML("/tried", "<body>")
	s.HTML("/plain", "<title>plain</title><body>plain")
}
