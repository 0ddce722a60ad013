// paints.c's paint_here(), called by a goroutine.
package main

// int paint_here(double times, long told[2]);
import "C"
import (
	"fmt"
	"os"
)

func main() {
	var told [2]C.long
	done := make(chan C.int)
	go func() { done <- C.paint_here(5.0, &told[0]) }()
	if <-done != 0 {
		os.Exit(1)
	}
	fmt.Println("truth taken", told[0])
	fmt.Println("truth frame", told[1])
}
