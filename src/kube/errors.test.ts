import { expect, it } from 'vitest';
import { isServerCondition, KubeError } from './errors.ts';

it.each([
  [0, 'Unreachable', true],
  [403, 'Forbidden', true],
  [409, 'Conflict', true],
  [409, 'AlreadyExists', false],
  [422, 'Invalid', false],
  [404, 'NotFound', false],
  [429, 'TooManyRequests', true],
  [503, 'ServiceUnavailable', true],
])('an answer %i %s is a condition of the API server and not a fault of the caller: %s', (status, reason, is) => {
  expect(isServerCondition(new KubeError({ status, reason, message: 'why' }))).toBe(is);
});
