package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"github.com/chromedp/cdproto/page"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Picture is what a tab showed.
type Picture struct {
	MIME   string // image/png or image/jpeg
	Data   []byte // at most [abi.MaxImage]
	Width  int    // pixels
	Height int
}

const (
	maxSide  = 2048        // pixels of a picture's longer side
	maxShot  = 4 * maxSide // pixels of a side that we decode
	maxTries = 4           // pictures of a page that moves
	margins  = 3           // CSS pixels around what is painted over
	leastJPG = 40          // quality below which a picture is made smaller instead
)

// A rect is a rectangle in CSS pixels of the window.
type rect struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// A framing is what the helper says of a picture to be taken.
type framing struct {
	Rect  rect    `json:"rect"` // what it shows
	Left  float64 `json:"left"` // of the window in the document
	Top   float64 `json:"top"`
	Masks []rect  `json:"masks"` // what must not be seen
}

// Screenshot takes a picture of the one element that selector matches, as far as
// it fits into the window, or of what the window shows. Fields for secrets and
// frames of other origins are painted over.
func (p *Page) Screenshot(ctx context.Context, within []string, selector string) (Picture, error) {
	var pic Picture
	err := p.run(ctx, "screenshot", func(ctx context.Context) error {
		if p.hidden {
			return abi.Errorf(abi.ErrUnsupportedAction, "screenshot", "a tab in your own browser is in no window and draws nothing").
				WithHint("use snapshot, or run drawbridge without --attach")
		}
		img, f, err := p.capture(ctx, within, selector)
		if err != nil {
			return err
		}
		pic, err = fit(paint(img, f))
		return err
	})
	return pic, err
}

// capture takes a picture for which it is known what must not be seen: the page
// says it before and after, and has to say the same, in the same document.
func (p *Page) capture(ctx context.Context, within []string, selector string) (image.Image, framing, error) {
	arg := map[string]any{"within": within, "selector": selector}
	var before framing
	p.mu.Lock()
	loader := p.loader
	p.mu.Unlock()
	if err := p.framing(ctx, arg, &before); err != nil {
		return nil, before, err
	}
	for range maxTries {
		res, err := do(ctx, p.s, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: before.clip()})
		if err != nil {
			return nil, before, err
		}
		var after framing
		if err := p.framing(ctx, arg, &after); err != nil {
			return nil, before, err
		}
		p.mu.Lock()
		moved := p.loader != loader
		p.mu.Unlock()
		if moved {
			return nil, before, errNavigated
		}
		if before.equal(after) {
			img, err := decodePNG(res.Data)
			return img, before, err
		}
		before = after
	}
	return nil, before, abi.Errorf(abi.ErrStaleRef, "screenshot", "the page does not stand still, so that what must not be seen can't be painted over")
}

// framing asks the page, and the browser for what no page tells.
func (p *Page) framing(ctx context.Context, arg map[string]any, f *framing) error {
	if err := p.invoke(ctx, "frame", arg, f); err != nil {
		return err
	}
	closed, err := p.closedMasks(ctx)
	f.Masks = append(f.Masks, closed...)
	return err
}

func (f framing) equal(g framing) bool {
	return f.Rect == g.Rect && f.Left == g.Left && f.Top == g.Top && slices.Equal(f.Masks, g.Masks)
}

// clip is the picture's part of the document, scaled down if it is large.
func (f framing) clip() *page.Viewport {
	scale := min(1, maxSide/max(f.Rect.Width, f.Rect.Height))
	return &page.Viewport{X: f.Rect.X + f.Left, Y: f.Rect.Y + f.Top, Width: f.Rect.Width, Height: f.Rect.Height, Scale: scale}
}

// decodePNG decodes what the browser sent, unless it is far larger than asked for.
func decodePNG(data []byte) (image.Image, error) {
	cfg, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if cfg.Width > maxShot || cfg.Height > maxShot {
		return nil, abi.Errorf(abi.ErrLimitExceeded, "screenshot", "the browser sent a picture of %d by %d pixels", cfg.Width, cfg.Height)
	}
	return png.Decode(bytes.NewReader(data))
}

// paint copies a picture and paints over what must not be seen.
func paint(img image.Image, f framing) *image.RGBA {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	scale := float64(b.Dx()) / f.Rect.Width
	for _, m := range f.Masks {
		r := image.Rect(
			int(math.Floor((m.X-f.Rect.X-margins)*scale)), int(math.Floor((m.Y-f.Rect.Y-margins)*scale)),
			int(math.Ceil((m.X-f.Rect.X+m.Width+margins)*scale)), int(math.Ceil((m.Y-f.Rect.Y+m.Height+margins)*scale)),
		)
		draw.Draw(out, r.Intersect(out.Bounds()), image.NewUniform(color.Gray{Y: 0x60}), image.Point{}, draw.Src)
	}
	return out
}

// fit encodes a picture so that it is small enough: as PNG, as JPEG of falling
// quality, and then the same at half the size.
func fit(img *image.RGBA) (Picture, error) {
	for {
		pic := Picture{MIME: "image/png", Width: img.Rect.Dx(), Height: img.Rect.Dy()}
		var buf bytes.Buffer
		if err := png.Encode(&buf, img); err != nil {
			return Picture{}, err
		}
		for quality := 85; buf.Len() > abi.MaxImage && quality >= leastJPG; quality -= 15 {
			buf.Reset()
			pic.MIME = "image/jpeg"
			if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
				return Picture{}, err
			}
		}
		if buf.Len() <= abi.MaxImage {
			pic.Data = buf.Bytes()
			return pic, nil
		}
		img = halve(img)
	}
}

// halve makes each pixel of four.
func halve(img *image.RGBA) *image.RGBA {
	w, h := max(1, img.Rect.Dx()/2), max(1, img.Rect.Dy()/2)
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			for c := range 4 {
				sum := 0
				for _, at := range [4][2]int{{2 * x, 2 * y}, {2*x + 1, 2 * y}, {2 * x, 2*y + 1}, {2*x + 1, 2*y + 1}} {
					sum += int(img.Pix[img.PixOffset(min(at[0], img.Rect.Dx()-1), min(at[1], img.Rect.Dy()-1))+c])
				}
				out.Pix[out.PixOffset(x, y)+c] = uint8(sum / 4)
			}
		}
	}
	return out
}

// Snapshot tells what is in an element, or in the page, as a reader who can't see
// it would have it told: at most limit bytes; 0 and more than [abi.MaxSnapshot]
// are MaxSnapshot. What fields for secrets hold is not told.
func (p *Page) Snapshot(ctx context.Context, within []string, selector string, limit int) (text string, truncated bool, err error) {
	if limit <= 0 || limit > abi.MaxSnapshot {
		limit = abi.MaxSnapshot
	}
	var a struct {
		Text      string `json:"text"`
		Truncated bool   `json:"truncated"`
	}
	err = p.run(ctx, "snapshot", func(ctx context.Context) error {
		return p.ask(ctx, "snapshot", map[string]any{"within": within, "selector": selector, "max": limit}, &a)
	})
	text = clip(a.Text, limit)
	return text, a.Truncated || len(text) < len(a.Text), err
}
