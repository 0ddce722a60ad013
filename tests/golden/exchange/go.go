package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"time"
)

var sink int

func square(n int) int { return n * n }

func spin(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 100000; i++ {
			sink += square(i)
		}
	}
}

func sorted(until time.Time) {
	for time.Now().Before(until) {
		s := make([]string, 5000)
		for i := range s {
			s[i] = strings.Repeat("x", (i*7919)%50)
		}
		sort.Strings(s)
	}
}

var keep [][]byte

func wait(mu *sync.Mutex, wg *sync.WaitGroup) {
	for i := 0; i < 5; i++ {
		mu.Lock()
		time.Sleep(2 * time.Millisecond)
		mu.Unlock()
	}
	wg.Done()
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	f, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(f)
	spin(time.Now().Add(300 * time.Millisecond))
	sorted(time.Now().Add(300 * time.Millisecond))
	pprof.StopCPUProfile()
	f.Close()
	for i := 0; i < 100; i++ {
		keep = append(keep, make([]byte, 10000))
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go wait(&mu, &wg)
	}
	wg.Wait()
	for _, name := range []string{"heap", "mutex", "goroutine"} {
		f, _ := os.Create(name + ".pb.gz")
		pprof.Lookup(name).WriteTo(f, 0)
		f.Close()
	}
}
