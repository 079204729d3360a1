/** One part of a multipart body. Its bytes can be read once, before the next part is requested. */
export interface MultipartPart {
  readonly name: string;
  readonly body: AsyncGenerator<Buffer>;
}

/** The boundary of a `multipart/form-data` content type, or undefined. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const found = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType ?? '');
  return found?.[1] ?? found?.[2]?.trim();
}

/** The parts of a body in order, without buffering a whole part. Throws on a truncated body. */
export async function* readMultipartParts(
  source: AsyncIterable<Buffer>,
  boundary: string,
): AsyncGenerator<MultipartPart> {
  const reader = new MultipartReader(source, Buffer.from(`\r\n--${boundary}`));
  while (await reader.nextPart()) {
    const body = reader.body();
    yield { name: reader.name, body };
    for await (const _ of body);
  }
}

class MultipartReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** A line end before the body gives the first boundary the form of the others. */
  #buffer = Buffer.from('\r\n');
  name = '';

  constructor(source: AsyncIterable<Buffer>, delimiter: Buffer) {
    this.#source = source[Symbol.asyncIterator]();
    this.#delimiter = delimiter;
  }

  /** Reads up to the next part's content; false at the end. */
  async nextPart(): Promise<boolean> {
    if (this.name === '') for await (const _ of this.body());
    const after = await this.#take(2);
    if (after.toString() === '--') return false;
    const head = (await this.#until(Buffer.from('\r\n\r\n'))).toString();
    this.name = /content-disposition:[^\r\n]*\bname="([^"]*)"/i.exec(head)?.[1] ?? '?';
    return true;
  }

  /** Bytes up to the next boundary. */
  async *body(): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#buffer.indexOf(this.#delimiter);
      if (at >= 0) {
        const last = this.#buffer.subarray(0, at);
        this.#buffer = this.#buffer.subarray(at + this.#delimiter.length);
        if (last.length > 0) yield last;
        return;
      }
      const safe = this.#buffer.length - this.#delimiter.length;
      if (safe > 0) {
        const ready = this.#buffer.subarray(0, safe);
        this.#buffer = this.#buffer.subarray(safe);
        yield ready;
      }
      await this.#fill();
    }
  }

  async #fill(): Promise<void> {
    const { value, done } = await this.#source.next();
    if (done) throw new Error('Could not find starting boundary');
    this.#buffer = Buffer.concat([this.#buffer, value]);
  }

  async #take(count: number): Promise<Buffer> {
    while (this.#buffer.length < count) await this.#fill();
    const taken = this.#buffer.subarray(0, count);
    this.#buffer = this.#buffer.subarray(count);
    return taken;
  }

  async #until(mark: Buffer): Promise<Buffer> {
    let at = this.#buffer.indexOf(mark);
    while (at < 0) {
      await this.#fill();
      at = this.#buffer.indexOf(mark);
    }
    const head = await this.#take(at);
    await this.#take(mark.length);
    return head;
  }
}
