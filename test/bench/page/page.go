// Package page is the page that the benchmarks read: one table of 50 rows with 12
// fields each, every field another text.
package page

import (
	"fmt"
	"net/http"
)

// Rows and Cols are the table's size.
const (
	Rows = 50
	Cols = 12
)

// Cell is the text of one field, counted from 0.
func Cell(row, col int) string { return fmt.Sprintf("value %d of row %d, ü", col, row) }

// Handler serves the page at every path.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Bench</title><link rel=icon href="data:,"><table id=list><tbody>`)
		for r := range Rows {
			fmt.Fprint(w, "<tr class=row>")
			for c := range Cols {
				fmt.Fprintf(w, `<td class="c%d"><span>%s</span></td>`, c, Cell(r, c))
			}
			fmt.Fprint(w, "</tr>")
		}
		fmt.Fprint(w, "</tbody></table>")
	})
}
