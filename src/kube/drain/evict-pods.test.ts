import { describe, expect, it } from 'vitest';
import { parseErrorResponse } from '../client/api-status.ts';
import type { KubeClient } from '../client/client.ts';
import { KubeError } from '../errors.ts';
import { evictPods, readEvictionAnswer } from './evict-pods.ts';
import type { Pod } from './kinds.ts';

/** The error of a response, as the transport reads it. */
const errorOf = (code: number, reason: string, message: string, details: object = {}): KubeError =>
  new KubeError(
    parseErrorResponse(
      { method: 'POST', path: '/api/v1/namespaces/shop/pods/web/eviction' },
      code,
      undefined,
      JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details }),
    ),
  );

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";
const cause = (message: string) => [{ reason: 'DisruptionBudget', message }];

describe('the answer to an eviction', () => {
  it.each<[string, KubeError, object]>([
    [
      'D4: a budget that allows nothing blocks, with its own words',
      errorOf(429, 'TooManyRequests', violation, {
        causes: cause('The disruption budget web needs 2 healthy pods and has 2 currently'),
      }),
      { kind: 'blocked', message: 'The disruption budget web needs 2 healthy pods and has 2 currently' },
    ],
    [
      'a budget that is not evaluated yet is temporary',
      errorOf(429, 'TooManyRequests', violation, {
        retryAfterSeconds: 10,
        causes: cause('The disruption budget web is still being processed by the server.'),
      }),
      { kind: 'later' },
    ],
    [
      'a rate limit has the same code',
      errorOf(429, 'TooManyRequests', 'too many requests, please try again later', { retryAfterSeconds: 1 }),
      { kind: 'overloaded' },
    ],
    [
      'two budgets block, and waiting never helps',
      errorOf(
        500,
        '',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      ),
      { kind: 'blocked', message: expect.stringContaining('More than one PodDisruptionBudget') },
    ],
    [
      'another failure of the server is temporary',
      errorOf(500, 'InternalError', 'etcdserver: no leader'),
      { kind: 'later' },
    ],
    ['a timeout is temporary', errorOf(504, 'Timeout', "couldn't update PodDisruptionBudget"), { kind: 'later' }],
    [
      'a namespace in deletion is temporary',
      errorOf(403, 'Forbidden', 'unable to create new content', {
        causes: [{ reason: 'NamespaceTerminating', message: '' }],
      }),
      { kind: 'later' },
    ],
    [
      'a budget with a negative allowance blocks',
      errorOf(403, 'Forbidden', 'pdb disruptions allowed is negative', { kind: 'poddisruptionbudget', name: 'web' }),
      { kind: 'blocked' },
    ],
    [
      'a webhook that denies it rejects',
      errorOf(403, 'Forbidden', 'denied', { kind: 'pods', name: 'web' }),
      { kind: 'rejected' },
    ],
    [
      'a missing pod is gone',
      errorOf(404, 'NotFound', 'pods "web" not found', { kind: 'pods', name: 'web' }),
      { kind: 'gone' },
    ],
    ['a conflict is read again', errorOf(409, 'Conflict', 'Precondition failed'), { kind: 'later' }],
    ['an invalid request is rejected', errorOf(422, 'Invalid', 'no'), { kind: 'rejected' }],
    ['no answer', new KubeError({ status: 0, reason: 'DeadlineExceeded', message: 'none' }), { kind: 'overloaded' }],
  ])('%s', (_, error, expected) => {
    expect(readEvictionAnswer(error)).toMatchObject(expected);
  });
});

describe('evictPods', () => {
  const pods = Array.from({ length: 25 }, (_, i): Pod => {
    return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `p${i}`, namespace: 'shop', uid: `u${i}` } };
  });
  const { signal } = new AbortController();
  /** A client whose evictions end as `answer` says, and what it was asked for. */
  function clientOf(answer: () => Promise<void>) {
    const bodies: unknown[] = [];
    let running = 0;
    const most = { running: 0 };
    const raw = async (_: string, __: string, body: unknown) => {
      bodies.push(body);
      running += 1;
      most.running = Math.max(most.running, running);
      await answer().finally(() => {
        running -= 1;
      });
    };
    return { client: { raw } as unknown as KubeClient, bodies, most };
  }

  it('D2: evicts by policy/v1 with the grace period of the pod, a few at a time', async () => {
    const { client, bodies, most } = clientOf(() => Promise.resolve());
    const evictions = await evictPods(client, pods, { by: 'eviction', signal });
    expect(evictions.map(({ answer }) => answer.kind)).toEqual(pods.map(() => 'ends'));
    expect(bodies[0]).toEqual({
      ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: 'shop', name: 'p0' } },
      deleteOptions: { preconditions: { uid: 'u0' } },
    });
    expect(most.running).toBe(10);
  });

  it('stops when the API server does not keep up', async () => {
    const { client, bodies } = clientOf(async () => {
      throw errorOf(429, 'TooManyRequests', 'too many requests, please try again later', { retryAfterSeconds: 1 });
    });
    const evictions = await evictPods(client, pods, { by: 'eviction', signal });
    expect(bodies).toHaveLength(10);
    expect(evictions).toHaveLength(10);
  });

  it('passes on the end of the process', async () => {
    const over = new AbortController();
    const { client } = clientOf(async () => {
      over.abort(new Error('shutdown'));
      throw new KubeError({ status: 0, reason: 'Unreachable', message: 'aborted' });
    });
    await expect(evictPods(client, pods, { by: 'eviction', signal: over.signal })).rejects.toThrow('shutdown');
  });
});
