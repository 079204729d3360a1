import { getEventListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ChangeSignal } from './change-signal.ts';
import { EventStreams, streamLimits } from './event-streams.ts';

function fixture() {
  const clock = new ManualClock();
  const changes = new ChangeSignal();
  const end = new AbortController();
  const streams = new EventStreams(changes, clock, end.signal);
  let state = 0;
  const change = (): void => {
    state += 1;
    changes.notify();
  };
  /** A reader with a buffer of a few bytes, or one that takes everything. */
  const open = (highWaterMark = 1 << 20) => {
    const stream = new PassThrough({ highWaterMark });
    const served = streams.serve(stream, async () => JSON.stringify({ state }));
    return { stream, served, received: () => statesIn(String(stream.read() ?? '')) };
  };
  return { clock, changes, end, streams, change, open };
}

const statesIn = (text: string): number[] => [...text.matchAll(/data: \{"state":(\d+)\}/g)].map(([, n]) => Number(n));

it('sends the state at once and after a change, at most once a second', async () => {
  const { clock, change, open } = fixture();
  const { received } = open();
  await clock.settle();
  expect(received()).toEqual([0]);
  for (let i = 0; i < 5; i += 1) change();
  await clock.advance(999);
  expect(received()).toEqual([]);
  await clock.advance(1);
  expect(received()).toEqual([5]);
});

it('sends the time as a heartbeat while nothing changes', async () => {
  const { clock, open } = fixture();
  const { stream } = open();
  await clock.advance(0);
  stream.read();
  await clock.advance(streamLimits.heartbeat * 1000);
  expect(String(stream.read())).toBe('event: time\ndata: 2026-11-21T09:00:15Z\n\n');
});

it('a slow reader gets the newest state when it can take one, and nothing between', async () => {
  const { clock, change, open } = fixture();
  const { stream, received } = open(8);
  await clock.settle();
  for (let i = 0; i < 30; i += 1) {
    change();
    await clock.advance(1000);
  }
  expect(stream.readableLength + stream.writableLength).toBeLessThan(200);
  expect(received()).toEqual([0]);
  await clock.advance(1000);
  expect(received()).toEqual([30]);
});

it('disconnects a reader that takes nothing', async () => {
  const { clock, streams, open } = fixture();
  const { stream, served } = open(8);
  await clock.advance(streamLimits.stalled * 1000);
  await served;
  expect([stream.destroyed, streams.open]).toEqual([true, 0]);
});

it('ends a stream after its lifetime, so that the viewer is authorized again', async () => {
  const { clock, streams, open } = fixture();
  const { stream, served } = open();
  stream.resume();
  await clock.advance((streamLimits.lifetime + streamLimits.heartbeat) * 1000);
  await served;
  expect([stream.writableEnded, streams.open]).toEqual([true, 0]);
});

it('a closed connection leaves nothing behind', async () => {
  const { clock, end, streams, change, open } = fixture();
  const { stream, served } = open();
  for (let i = 0; i < 20; i += 1) {
    change();
    await clock.advance(1000);
  }
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
  stream.destroy();
  await served;
  expect([streams.open, clock.sleeping]).toEqual([0, 0]);
  expect(getEventListeners(end.signal, 'abort')).toEqual([]);
});

it('ends every stream when the server ends', async () => {
  const { end, streams, open } = fixture();
  const all = [open(), open()];
  expect(streams.open).toBe(2);
  end.abort();
  await Promise.all(all.map(({ served }) => served));
  expect(streams.open).toBe(0);
});

it('is full with a bounded number of streams', () => {
  const { streams, open } = fixture();
  for (let i = 0; i < streamLimits.streams; i += 1) open();
  expect(streams.isFull).toBe(true);
});

it('says that an object is gone, and ends', async () => {
  const clock = new ManualClock();
  const streams = new EventStreams(new ChangeSignal(), clock, new AbortController().signal);
  const stream = new PassThrough();
  await streams.serve(stream, async () => undefined);
  expect(String(stream.read())).toBe('event: gone\ndata: {}\n\n');
  expect(stream.writableEnded).toBe(true);
});
