import { expect, it } from 'vitest';
import { accessRequestId, annotations } from '../../../api/names.ts';
import { classifyMarkOwner, describeRequestMark } from './request-mark.ts';

/** Found by a birthday search: both have the same 40-bit hash for the instance `talos` of `test`. */
const request = { namespace: 'shop', name: 'ci-8f8l', uid: 'request-uid' };
const other = { namespace: 'shop', name: 'ci-wz65', uid: 'other-uid' };

const marked = (notes: Record<string, string>) => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
  metadata: { name: 'any', annotations: notes },
});

it.each([
  ['own', 'in its annotations', describeRequestMark(request)],
  ['own', 'without annotations: its rights are revoked all the same', {}],
  ['own', 'by name only, from an earlier release', { [annotations.requestName]: request.name }],
  ['former', 'with the same name and an earlier UID', describeRequestMark({ ...request, uid: 'before' })],
  ['other', 'with the same hash', describeRequestMark(other)],
  ['other', 'in another namespace', describeRequestMark({ ...request, namespace: 'other' })],
] as const)('an object has the owner %s for a request %s', (owner, _, notes) => {
  expect(accessRequestId('test', 'talos', request)).toBe(accessRequestId('test', 'talos', other));
  expect(classifyMarkOwner(marked(notes), request)).toBe(owner);
});
