import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { whenAborted } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../client/client.ts';
import { SnapshotError } from './snapshot-error.ts';
import { readSnapshot } from './stream-snapshot.ts';

const database = randomBytes(1024);
const snapshot = Buffer.concat([database, createHash('sha256').update(database).digest()]);

type Send = TalosClient['etcdSnapshot'];

/** Reads from a node that sends like this. */
function read(send: Send, write: Parameters<Send>[0] = async () => {}) {
  const clock = new ManualClock();
  const parent = new AbortController();
  const source = { clock, signal: parent.signal };
  const result = readSnapshot({ machine: 'cp-1', node: { etcdSnapshot: send } }, source, write).catch(
    (error: unknown) => error,
  );
  return { clock, parent, result };
}

/** Sends this much, and then nothing. */
const stall =
  (bytes: number): Send =>
  async (write, { signal = new AbortController().signal } = {}) => {
    if (bytes > 0) await write(snapshot.subarray(0, bytes));
    await whenAborted(signal);
    throw signal.reason;
  };

describe('the snapshot of a member', () => {
  it('is read to its end', async () => {
    const { result, clock } = read(async (write) => await write(snapshot));
    expect(await result).toEqual({ machine: 'cp-1', bytes: snapshot.length });
    expect(clock.sleeping).toBe(0);
  });

  it.each([0, 512])('fails when the node sends nothing after %i bytes', async (bytes) => {
    const { result, clock } = read(stall(bytes));
    await clock.advance(120_000);
    const error = await result;
    expect(error).toBeInstanceOf(SnapshotError);
    expect(error).toMatchObject({
      ...{ machine: 'cp-1', code: 'TALOS_CALL_FAILED', retry: 'backoff' },
      message: expect.stringMatching(
        /The snapshot of cp-1 is not kept: nothing of it has arrived for 60 s\. Try again/,
      ),
    });
  });

  it('waits for a bucket that is slower than the limit', async () => {
    let goOn = () => {};
    const { result, clock } = read(
      async (write) => await write(snapshot),
      () => new Promise((resolve) => (goOn = resolve)),
    );
    await clock.advance(600_000);
    goOn();
    expect(await result).toMatchObject({ bytes: snapshot.length });
  });

  it.each<[string, Send]>([
    ['is not whole', async (write) => await write(snapshot.subarray(0, 600))],
    [
      'breaks',
      async (write) => {
        await write(snapshot.subarray(0, 512));
        throw new ProviderError('TALOS_UNREACHABLE', '10.0.0.2 (ECONNRESET).', { retryAfterSeconds: 3 });
      },
    ],
  ])('that %s fails with an error that names the member', async (_, send) => {
    expect(await read(send).result).toMatchObject({ name: 'ProviderError', machine: 'cp-1' });
  });

  it('keeps code, text and policy of the error of the node', async () => {
    const failure = new ProviderError('TALOS_PERMISSION_DENIED', '10.0.0.2, EtcdSnapshot: not authorized.');
    const error = await read(() => Promise.reject(failure)).result;
    const { code, message, detail, retry } = failure;
    expect(error).toMatchObject({ code, message, detail, retry });
  });

  it('of which a piece cannot be written fails with the error of the writer, which is none of the member', async () => {
    const full = new ProviderError('S3_FAILED', 'The S3 server answers 503 SlowDown.');
    const { result } = read(
      async (write) => await write(snapshot),
      () => Promise.reject(full),
    );
    expect(await result).toBe(full);
  });

  it('ends with its signal, which is no failure of the member', async () => {
    const { result, parent } = read(stall(512));
    const reason = new Error('shutdown');
    parent.abort(reason);
    expect(await result).toBe(reason);
  });
});
