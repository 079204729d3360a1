import type { Dispatcher } from 'undici';
import { BoundedByteCounter } from '../../lib/bounded-read.ts';
import { platformClusterLimits } from './response-limits.ts';
import type { QueryParameters } from './transport.ts';

/** A GET whose answer is read line by line. */
export interface StreamRequest {
  readonly path: string;
  readonly query?: QueryParameters;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly signal: AbortSignal;
  /** The server has to begin its answer within this time. */
  readonly deadlineSeconds: number;
  /** The stream ends after so much silence. */
  readonly idleSeconds: number;
  /** The stream ends after this time in any case. */
  readonly lifeSeconds: number;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface LineLimits {
  /** Of one line, and of a refusal. */
  readonly lineBytes: number;
  /** Told of what came in; nothing more is read before what it returns has resolved. */
  readonly rest: (bytes: number, lines: number) => Promise<void> | undefined;
}

/** How a server begins its answer. */
export interface ResponseHead {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
}

const lineEnd = 0x0a;
/** Lines are whole before they are read, so that one reader serves all streams. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Hands on the lines of an answer as they come in, without empty ones. There is a stream for each cluster, and most of the time
 * nothing happens on it: between two lines it holds on to nothing.
 */
export class LineReader implements Dispatcher.DispatchHandler {
  /** Resolves when the answer begins; rejects when none does. */
  readonly begun: Promise<ResponseHead>;
  /** Resolves with the end of the answer, and with its text where it is a refusal; rejects when it breaks. */
  readonly ended: Promise<string>;
  readonly #line: (line: string) => void;
  readonly #heard: () => void;
  #begin: (beginning: ResponseHead) => void = () => {};
  #end: (text: string) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #isRefused = false;
  /** Nothing is handed on after what could not be taken: whoever goes on from there must not believe to have seen it. */
  #isBroken = false;
  /** What came in of a line that is not at its end. */
  #parts: Buffer[] = [];
  readonly #count: BoundedByteCounter;
  readonly #rest: LineLimits['rest'] | undefined;
  #lines = 0;

  constructor(line: (line: string) => void, heard: () => void, limits: Partial<LineLimits> = {}) {
    this.#line = line;
    this.#heard = heard;
    this.#count = new BoundedByteCounter(limits.lineBytes ?? platformClusterLimits.eventBytes, 'a line of the watch');
    this.#rest = limits.rest;
    this.ended = new Promise((resolve, reject) => {
      [this.#end, this.#fail] = [resolve, reject];
    });
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.ended.catch(reject);
    });
    this.begun.catch(() => {});
  }

  onRequestStart(): void {}

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: ResponseHeaders): void {
    // An interim answer has no end of its own.
    if (statusCode < 200) return;
    this.#isRefused = statusCode >= 400;
    this.#heard();
    this.#begin({ statusCode, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isBroken) return;
    try {
      this.#heard();
      this.#lines = 0;
      this.#take(chunk);
      const rest = this.#rest?.(chunk.length, this.#lines);
      if (!rest) return;
      controller.pause();
      rest.then(() => controller.resume()).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#isBroken = true;
      this.#fail(error);
    }
  }

  onResponseEnd(): void {
    try {
      const rest = this.#whole();
      if (!this.#isRefused && rest.trim()) throw new Error('the watch ended in the middle of a line');
      this.#end(rest);
    } catch (error) {
      this.#fail(error);
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #take(chunk: Buffer): void {
    let from = 0;
    if (!this.#isRefused) {
      for (let to = chunk.indexOf(lineEnd); to >= 0; to = chunk.indexOf(lineEnd, from)) {
        this.#keep(chunk.subarray(from, to));
        from = to + 1;
        const line = this.#whole();
        if (!line.trim()) continue;
        this.#lines += 1;
        this.#line(line);
      }
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#count.add(part);
    this.#parts.push(part);
  }

  #whole(): string {
    const [first, ...more] = this.#parts;
    if (!first) return '';
    const bytes = more.length === 0 ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#count.reset();
    return utf8.decode(bytes);
  }
}
