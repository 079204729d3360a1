import { describe, expect, it } from 'vitest';
import { parseErrorResponse } from '../client/api-status.ts';
import { KubeError } from '../errors.ts';
import { readEvictionAnswer } from './evict-pods.ts';

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
      'day 2, D4: a budget that allows nothing blocks, with its own words',
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
