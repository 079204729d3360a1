import { describe, expect, it } from 'vitest';
import { type DrainRequest, decideWait, remainderOf } from './drain-node.ts';
import type { EvictionAnswer, PodEviction } from './evict-pods.ts';
import type { Pod } from './kinds.ts';

const startedAt = new Date('2026-11-25T10:00:00Z');
const minutesIn = (minutes: number): Date => new Date(startedAt.getTime() + minutes * 60_000);

const request = (changes: Partial<DrainRequest> = {}): DrainRequest => ({
  node: 'worker-1',
  policy: { timeoutMinutes: 30, onTimeout: 'Wait' },
  startedAt,
  now: minutesIn(1),
  isUnreachable: false,
  signal: new AbortController().signal,
  ...changes,
});
const force = { policy: { timeoutMinutes: 30, onTimeout: 'Force' } } as const;

const pod = (name: string, metadata: object = {}, phase = 'Running'): Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', status: { phase } },
  metadata: {
    ...{ name, namespace: 'shop', uid: name },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
    ...metadata,
  },
});
const answered = (one: Pod, answer: EvictionAnswer): PodEviction => ({ pod: one, answer });
const blocked = (name: string, budget: string): PodEviction =>
  answered(pod(name), {
    kind: 'blocked',
    message: `The disruption budget ${budget} needs 2 healthy pods and has 2 currently`,
  });

const wait = (
  asked: DrainRequest,
  evictions: readonly PodEviction[],
  ending: readonly Pod[] = [],
  untried: readonly Pod[] = [],
) =>
  decideWait(
    asked,
    remainderOf(asked, { evict: [...evictions.map((one) => one.pod), ...untried], ending, staying: [] }, evictions),
  );

describe('the end of a pass', () => {
  it('is reached when every pod is gone or finished', () => {
    const done = [answered(pod('a'), { kind: 'gone' }), answered(pod('b', {}, 'Succeeded'), { kind: 'ends' })];
    expect(wait(request(), done)).toBeUndefined();
  });

  it('waits for pods that were evicted or were being deleted before', () => {
    const result = wait(
      request(),
      [answered(pod('a'), { kind: 'ends' })],
      [pod('b', { deletionTimestamp: '2026-11-25T10:00:10Z' })],
    );
    expect(result).toEqual({
      ...{ kind: 'waiting', reason: 'Draining' },
      message: 'Node worker-1 is being drained. Being deleted: 2 pods (shop/a, shop/b).',
    });
  });

  it('names pods that nothing recreates', () => {
    const result = wait(
      request(),
      [],
      [pod('alone', { ownerReferences: [], deletionTimestamp: '2026-11-25T10:00:10Z' })],
    );
    expect(result).toMatchObject({
      message: expect.stringContaining('Without a controller that recreates it: 1 pod (shop/alone).'),
    });
  });

  it('waits for pods that were not tried', () => {
    expect(wait(request(), [], [], [pod('a')])).toMatchObject({
      ...{ reason: 'Draining', message: expect.stringContaining('To be evicted next: 1 pod.') },
    });
  });

  it('D4: names the PodDisruptionBudget and at most three pods', () => {
    const result = wait(
      request(),
      ['d', 'c', 'b', 'a'].map((name) => blocked(name, 'web')),
    );
    expect(result).toEqual({
      ...{ kind: 'waiting', reason: 'DrainBlocked' },
      message:
        'Pods cannot leave node worker-1, and it is tried again. The disruption budget web needs 2 healthy pods and has 2 currently (shop/a, shop/b, shop/c and 1 more).',
    });
  });

  it('D4: shows at most five messages, and not more of one than fits', () => {
    const result = wait(
      request(),
      Array.from({ length: 8 }, (_, i) => blocked(`p${i}`, `${'x'.repeat(1000)}${i}`)),
    );
    const message = result?.kind === 'waiting' ? result.message : '';
    expect(message.match(/The disruption budget/g)).toHaveLength(1);
    const many = wait(
      request(),
      Array.from({ length: 8 }, (_, i) => blocked(`p${i}`, `b${i}`)),
    );
    expect(many).toMatchObject({ message: expect.stringContaining('3 further reasons are not shown.') });
    expect(message.length).toBeLessThan(2000);
  });

  it('a temporary refusal does not count as blocked', () => {
    expect(wait(request(), [answered(pod('a'), { kind: 'later', message: 'wait' })])).toMatchObject({
      reason: 'Draining',
    });
  });

  it('D7: after the timeout, Wait goes on and says so', () => {
    expect(wait(request({ now: minutesIn(30) }), [blocked('a', 'web')])).toMatchObject({
      ...{
        reason: 'DrainTimedOut',
        message: expect.stringMatching(/^Node worker-1 is not drained after 30 minutes.*disruption budget web/),
      },
    });
  });

  it('D7: after the timeout, Force does not wait for a pod that stays long after its grace period', () => {
    const stuck = pod('a', { deletionTimestamp: '2026-11-25T10:28:00Z' });
    expect(wait(request({ now: minutesIn(30), ...force }), [], [stuck])).toBeUndefined();
    expect(wait(request({ now: minutesIn(30) }), [], [stuck])).toMatchObject({ reason: 'DrainTimedOut' });
    const graceful = pod('a', { deletionTimestamp: '2026-11-25T10:35:00Z' });
    expect(wait(request({ now: minutesIn(30), ...force }), [], [graceful])).toMatchObject({ reason: 'DrainTimedOut' });
  });

  it('D8: pods of an unreachable node are not waited for once they are being deleted', () => {
    const ending = [pod('b', { deletionTimestamp: '2026-11-25T10:00:10Z' })];
    expect(wait(request({ isUnreachable: true }), [answered(pod('a'), { kind: 'ends' })], ending)).toBeUndefined();
    expect(wait(request({ isUnreachable: true }), [blocked('a', 'web')])).toMatchObject({ reason: 'DrainBlocked' });
  });
});
