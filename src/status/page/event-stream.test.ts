import { expect, it } from 'vitest';
import { ServerEventReader } from './event-stream.ts';

it('reads events that arrive in any pieces', () => {
  const text = 'data: {"a":"x: y"}\n\nevent: time\ndata: 2026-11-21T09:00:00Z\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const reader = new ServerEventReader();
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
    expect(pieces.flatMap((piece) => reader.push(piece))).toEqual([
      { event: 'message', data: '{"a":"x: y"}' },
      { event: 'time', data: '2026-11-21T09:00:00Z' },
    ]);
  }
});

it('keeps an event that is not complete', () => {
  const reader = new ServerEventReader();
  expect(reader.push('data: {"a"')).toEqual([]);
  expect(reader.push(':1}\n\n')).toEqual([{ event: 'message', data: '{"a":1}' }]);
});
