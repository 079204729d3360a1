import { describe, expect, it } from 'vitest';
import { Batcher, type BatcherOptions } from './batcher.ts';

/** A batcher whose calls end under the control of the test. */
function slow(max?: number, maxWait?: BatcherOptions['maxWait'], atOnce = 1) {
  const calls: { questions: readonly string[]; end: () => void; fail: (error: Error) => void }[] = [];
  const batch = new Batcher<string, string>(
    async (requests) => {
      await new Promise<void>((end, fail) => calls.push({ questions: requests, end, fail }));
      return new Map(requests.filter((one) => one !== 'missing').map((one) => [one, `it is ${one}`]));
    },
    { concurrency: atOnce, ...(max ? { maxSize: max } : {}), ...(maxWait ? { maxWait: maxWait } : {}) },
  );
  return { batch, calls };
}

const { signal } = new AbortController();
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('simultaneous questions', () => {
  it('share calls, but none is answered by a call that began before it was asked', async () => {
    const { batch, calls } = slow();
    const first = batch.request('a', signal);
    await turn();
    const others = [batch.request('b', signal), batch.request('missing', signal), batch.request('a', signal)];
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a']]);
    calls[0]?.end();
    expect(await first).toBe('it is a');
    await turn();
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a'], ['b', 'missing', 'a']]);
    calls[1]?.end();
    expect(await Promise.all(others)).toEqual(['it is b', undefined, 'it is a']);
  });

  it('do not wait for the previous call when two may run at a time, except the third', async () => {
    const { batch, calls } = slow(undefined, undefined, 2);
    const answers: Promise<unknown>[] = [];
    for (const one of ['a', 'b', 'c', 'd']) {
      answers.push(batch.request(one, signal));
      await turn();
    }
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a'], ['b']]);
    calls[0]?.end();
    await turn();
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a'], ['b'], ['c', 'd']]);
    calls[1]?.end();
    calls[2]?.end();
    expect(await Promise.all(answers)).toEqual(['it is a', 'it is b', 'it is c', 'it is d']);
  });

  it('make a second call when they exceed the size of a batch', async () => {
    const { batch, calls } = slow(2);
    const answers = ['a', 'b', 'c'].map((one) => batch.request(one, signal));
    await turn();
    calls[0]?.end();
    await turn();
    calls[1]?.end();
    expect(await Promise.all(answers)).toEqual(['it is a', 'it is b', 'it is c']);
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a', 'b'], ['c']]);
  });
});

it('a slow response does not delay later questions', async () => {
  let lose = (): void => undefined;
  const maxWait = () =>
    new Promise<void>((resolve) => {
      lose = resolve;
    });
  const { batch, calls } = slow(undefined, maxWait);
  const first = batch.request('a', signal);
  await turn();
  const second = batch.request('b', signal);
  await turn();
  expect(calls).toHaveLength(1);
  lose();
  await turn();
  calls[1]?.end();
  expect(await second).toBe('it is b');
  calls[0]?.end();
  expect(await first).toBe('it is a');
});

describe('failures and aborts', () => {
  it('a failed call fails the questions of its batch, but not later ones', async () => {
    const { batch, calls } = slow();
    const unlucky = batch.request('a', signal);
    await turn();
    const lucky = batch.request('b', signal);
    calls[0]?.fail(new Error('no answer'));
    await expect(unlucky).rejects.toThrow('no answer');
    await turn();
    calls[1]?.end();
    expect(await lucky).toBe('it is b');
  });

  it('an aborted question does not affect the others', async () => {
    const { batch, calls } = slow();
    const gone = new AbortController();
    const left = batch.request('a', gone.signal);
    const stays = batch.request('b', signal);
    await turn();
    gone.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    calls[0]?.end();
    expect(await stays).toBe('it is b');
  });

  it('the call ends when all askers have aborted, and the question is asked again for the next asker', async () => {
    const over: AbortSignal[] = [];
    const batch = new Batcher<string, string>(async (requests, given) => {
      over.push(given);
      if (over.length === 1) await new Promise((_, fail) => given.addEventListener('abort', () => fail(given.reason)));
      return new Map(requests.map((one) => [one, `it is ${one}`]));
    });
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [batch.request('a', first.signal), batch.request('b', second.signal)].map((one) => one.catch(String));
    await turn();
    first.abort('gone');
    await turn();
    expect(over[0]?.aborted).toBe(false);
    second.abort('gone');
    expect(await Promise.all(asked)).toEqual(['gone', 'gone']);
    expect(over[0]?.aborted).toBe(true);
    expect(await batch.request('c', signal)).toBe('it is c');
  });

  it('a failed call ends by itself, because its parts may still report on the remote side', async () => {
    const over: AbortSignal[] = [];
    const batch = new Batcher<string, string>(async (_, life) => {
      over.push(life);
      throw new Error('refused');
    });
    expect(await batch.request('a', signal).catch(String)).toBe('Error: refused');
    expect(over[0]?.aborted).toBe(false);
  });

  it('a batch is not asked when all askers abort before its turn', async () => {
    const { batch, calls } = slow();
    const first = batch.request('a', signal);
    const gone = new AbortController();
    const second = batch.request('b', gone.signal).catch(String);
    await turn();
    const third = batch.request('c', gone.signal).catch(String);
    gone.abort('gone');
    expect(await Promise.all([second, third])).toEqual([expect.anything(), 'gone']);
    const last = batch.request('d', signal);
    calls[0]?.end();
    await first;
    await turn();
    await turn();
    expect(calls.map(({ questions: requests }) => requests)).toEqual([['a', 'b'], ['d']]);
    calls[1]?.end();
    expect(await last).toBe('it is d');
  });
});
