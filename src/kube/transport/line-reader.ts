import type { Dispatcher } from 'undici';
import { BoundedByteCounter } from '../../lib/bounded-read.ts';
import type { QueryParameters } from './request.ts';
import { platformClusterLimits } from './response-limits.ts';

/** A GET whose response is read line by line. */
export interface StreamRequest {
  readonly path: string;
  readonly query?: QueryParameters;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly signal: AbortSignal;
  /** The response must begin within this time. */
  readonly deadlineSeconds: number;
  /** The stream ends after this time without data. */
  readonly idleSeconds: number;
  /** The stream ends after this time in any case. */
  readonly maxLifetimeSeconds: number;
  /** The rate of watches does not apply to a text that is read once. */
  readonly isOneText?: boolean;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface LineLimits {
  /** Size limit of one line and of an error response. */
  readonly lineBytes: number;
  /** Called for each chunk. The reader pauses until the returned promise resolves. */
  readonly throttle: (bytes: number, lines: number) => Promise<void> | undefined;
}

/** The beginning of a response. */
export interface ResponseHead {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
}

const lineEnd = 0x0a;
/** Lines are complete before they are decoded, so that all streams can share one decoder. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Passes on the non-empty lines of a response as they arrive. There is a stream for each cluster, idle most of the
 * time: between two lines the reader holds no buffer.
 */
export class LineReader implements Dispatcher.DispatchHandler {
  /** Resolves when the response begins; rejects when there is none. */
  readonly isStarted: Promise<ResponseHead>;
  /** Resolves at the end of the response, with the text of an error response; rejects when the stream breaks. */
  readonly ended: Promise<string>;
  readonly #line: (line: string) => void;
  readonly #received: () => void;
  #begin: (beginning: ResponseHead) => void = () => {};
  #end: (text: string) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #isRefused = false;
  /**
   * After a line callback has thrown, no line is passed on: the caller must not continue past a line that it could not
   * process.
   */
  #isBroken = false;
  /** The chunks of an incomplete line. */
  #parts: Buffer[] = [];
  readonly #count: BoundedByteCounter;
  readonly #throttle: LineLimits['throttle'] | undefined;
  #lines = 0;

  constructor(line: (line: string) => void, onReceived: () => void, limits: Partial<LineLimits> = {}) {
    this.#line = line;
    this.#received = onReceived;
    this.#count = new BoundedByteCounter(limits.lineBytes ?? platformClusterLimits.eventBytes, 'a line of the watch');
    this.#throttle = limits.throttle;
    this.ended = new Promise((resolve, reject) => {
      [this.#end, this.#fail] = [resolve, reject];
    });
    this.isStarted = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.ended.catch(reject);
    });
    this.isStarted.catch(() => {});
  }

  onRequestStart(): void {}

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: ResponseHeaders): void {
    // An interim response does not end by itself.
    if (statusCode < 200) return;
    this.#isRefused = statusCode >= 400;
    this.#received();
    this.#begin({ statusCode, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isBroken) return;
    try {
      this.#received();
      this.#lines = 0;
      this.#take(chunk);
      const pause = this.#throttle?.(chunk.length, this.#lines);
      if (!pause) return;
      controller.pause();
      pause.then(() => controller.resume()).catch((error: unknown) => this.#fail(error));
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
        this.#append(chunk.subarray(from, to));
        from = to + 1;
        const line = this.#whole();
        if (!line.trim()) continue;
        this.#lines += 1;
        this.#line(line);
      }
    }
    if (from < chunk.length) this.#append(chunk.subarray(from));
  }

  #append(part: Buffer): void {
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
