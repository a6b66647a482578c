package site

import "net/http"

// assetsHandler serves the style sheet, script and image from an origin of
// their own, with no cookie and for a day.
func (s *Site) assetsHandler() http.Handler {
	mux := http.NewServeMux()
	for _, name := range []string{"site.css", "site.js", "logo.svg"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=86400")
			w.Header().Set("Access-Control-Allow-Origin", "*")
			http.ServeFileFS(w, r, files, "static/"+name)
		})
	}
	return mux
}
