/** The output of the demo. On a terminal the last block is redrawn in place; elsewhere each change is a line. */
export class Screen {
  readonly #startedAt = performance.now();
  readonly #live = process.stdout.isTTY === true && !process.env['CI'];
  #drawn = 0;
  #last = new Map<string, string>();

  /** Seconds since the demo began. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  say(text = ''): void {
    this.settle();
    process.stdout.write(`${text}\n`);
  }

  /** Prints a heading with the time. */
  chapter(text: string): void {
    this.say();
    this.say(`${this.#stamp()} ${bold(text)}`);
  }

  step(text: string): void {
    this.say(`${this.#stamp()}   ${text}`);
  }

  /** Prints a permanent line above the changing block. */
  event(text: string): void {
    if (this.#live) this.#erase();
    process.stdout.write(`${this.#stamp()} ${bold('*')} ${text}\n`);
  }

  /** Updates the block of lines by name. */
  progress(lines: ReadonlyMap<string, string>): void {
    if (!this.#live) {
      for (const [name, text] of lines)
        if (this.#last.get(name) !== text) process.stdout.write(`${this.#stamp()}   ${name.padEnd(26)} ${text}\n`);
      this.#last = new Map(lines);
      return;
    }
    this.#erase();
    const width = process.stdout.columns || 120;
    const drawn = [...lines].map(([name, text]) => `${this.#stamp()}   ${name.padEnd(26)} ${text}`.slice(0, width - 1));
    process.stdout.write(`${drawn.join('\n')}\n`);
    this.#drawn = drawn.length;
  }

  /** Makes the last block permanent. */
  settle(): void {
    this.#drawn = 0;
    this.#last.clear();
  }

  #erase(): void {
    if (this.#drawn > 0) process.stdout.write(`\x1b[${this.#drawn}A\x1b[0J`);
    this.#drawn = 0;
  }

  #stamp(): string {
    return `${this.seconds.toFixed(1).padStart(5)}s`;
  }
}

const bold = (text: string): string => (process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text);
