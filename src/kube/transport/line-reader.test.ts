import { describe, expect, it } from 'vitest';
import { LineReader } from './line-reader.ts';

const controller = {} as Parameters<LineReader['onResponseData']>[0];

function reading() {
  const lines: string[] = [];
  let received = 0;
  const reader = new LineReader(
    (line) => void lines.push(line),
    () => {
      received += 1;
    },
  );
  const emit = (...chunks: (string | Buffer)[]) => {
    for (const chunk of chunks) reader.onResponseData(controller, Buffer.from(chunk));
  };
  return { reader, lines, say: emit, heard: () => received };
}

describe('the lines of a stream', () => {
  const text = '{"a":"grüße 🚀"}\n\n{"b":2}\n  \n{"c":[3]}\n';

  it('do not depend on the chunk boundaries of the network', () => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      const { reader, lines, say: emit } = reading();
      reader.onResponseStart(controller, 200, {});
      emit(bytes.subarray(0, at), bytes.subarray(at));
      expect(lines, `cut at ${at}`).toEqual(['{"a":"grüße 🚀"}', '{"b":2}', '{"c":[3]}']);
    }
  });

  it('end with the response, and its start and every chunk count as activity', async () => {
    const { reader, lines, say: emit, heard: received } = reading();
    reader.onResponseStart(controller, 200, { date: 'now' });
    emit('one\n', 'two\n');
    reader.onResponseEnd();
    expect(await reader.isStarted).toEqual({ statusCode: 200, headers: { date: 'now' } });
    expect(await reader.ended).toBe('');
    expect([lines, received()]).toEqual([['one', 'two'], 3]);
  });

  it.each<[string, (fixture: ReturnType<typeof reading>) => void, RegExp]>([
    [
      'the stream ends in the middle of one',
      ({ say: emit, reader }) => [emit('one\ntw'), reader.onResponseEnd()],
      /middle of a line/,
    ],
    ['one is not UTF-8', ({ say: emit }) => emit(Buffer.from([0x61, 0xff, 0x0a])), /not valid/],
    ['the stream breaks', ({ reader }) => reader.onResponseError(controller, new Error('socket hang up')), /hang up/],
    [
      'one never ends',
      ({ reader }) => {
        const part = Buffer.alloc(2 ** 20, 'x');
        for (let i = 0; i < 33; i += 1) reader.onResponseData(controller, part);
      },
      /longer than 33554432 bytes/,
    ],
  ])('are broken when %s', async (_, act, why) => {
    const fixture = reading();
    fixture.reader.onResponseStart(controller, 200, {});
    act(fixture);
    await expect(fixture.reader.ended).rejects.toThrow(why);
  });

  it('stop when the line callback throws: it gets no later line', async () => {
    const lines: string[] = [];
    const reader = new LineReader(
      (line) => {
        lines.push(line);
        if (line === 'x') throw new Error('not an event');
      },
      () => {},
    );
    reader.onResponseStart(controller, 200, {});
    for (const chunk of ['a\n', 'x\nb\n', 'c\n']) reader.onResponseData(controller, Buffer.from(chunk));
    reader.onResponseEnd();
    await expect(reader.ended).rejects.toThrow('not an event');
    expect(lines).toEqual(['a', 'x']);
  });

  it('do not include an error response, which is read as a whole', async () => {
    const { reader, lines, say: emit } = reading();
    reader.onResponseStart(controller, 410, {});
    emit('{"reason":\n', '"Expired"}\n');
    reader.onResponseEnd();
    expect((await reader.isStarted).statusCode).toBe(410);
    expect(await reader.ended).toBe('{"reason":\n"Expired"}\n');
    expect(lines).toEqual([]);
  });

  it('do not begin with an interim response, nor without a response', async () => {
    const { reader } = reading();
    reader.onResponseStart(controller, 103, {});
    reader.onResponseError(controller, new Error('gone'));
    await expect(reader.isStarted).rejects.toThrow('gone');
  });
});
