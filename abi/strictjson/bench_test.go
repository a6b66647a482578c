package strictjson_test

import (
	"encoding/json"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// columns is what an extraction of 50 rows of 12 fields looks like.
type columns struct {
	Names []string   `json:"names"`
	Cols  [][]string `json:"cols"`
}

func BenchmarkDecode(b *testing.B) {
	var doc columns
	for range 12 {
		doc.Names = append(doc.Names, "column")
		col := make([]string, 50)
		for i := range col {
			col[i] = "a value as long as most are, with é"
		}
		doc.Cols = append(doc.Cols, col)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("strict", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := strictjson.Decode(data, new(columns), strictjson.AnyText()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := strictjson.Check(data, strictjson.AnyText()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := json.Unmarshal(data, new(columns)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
