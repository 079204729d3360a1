/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Reads server-sent events from pieces of text. `EventSource` cannot send a token, so the stream is read by `fetch`; this
 * reads the part of the format that the provider writes: one line of data for each event.
 */
export class ServerEventReader {
  #rest = '';

  push(piece: string): readonly ServerEvent[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.map((block) => {
      const lines = block.split('\n');
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      return { event: field('event') ?? 'message', data: field('data') ?? '' };
    });
  }
}
