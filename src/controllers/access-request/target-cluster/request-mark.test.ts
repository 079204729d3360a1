import { expect, it } from 'vitest';
import { accessRequestId, annotations } from '../../../api/names.ts';
import { classifyMarkOwner, describeRequestMark } from './request-mark.ts';

/** Found by a birthday search: both have the same hash of 40 bits for the instance `talos` of `test`. */
const request = { namespace: 'shop', name: 'ci-8f8l', uid: 'request-uid' };
const other = { namespace: 'shop', name: 'ci-wz65', uid: 'other-uid' };

const marked = (notes: Record<string, string>) => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
  metadata: { name: 'any', annotations: notes },
});

it.each([
  ['own', 'that it names', describeRequestMark(request)],
  ['own', 'when it names none: a right without annotations is withdrawn, too', {}],
  ['own', 'by its name alone, of an earlier release', { [annotations.requestName]: request.name }],
  ['former', 'of its name before', describeRequestMark({ ...request, uid: 'before' })],
  ['other', 'with the same hash', describeRequestMark(other)],
  ['other', 'of another namespace', describeRequestMark({ ...request, namespace: 'other' })],
] as const)('an object is %s for the request %s', (owner, _, notes) => {
  expect(accessRequestId('test', 'talos', request)).toBe(accessRequestId('test', 'talos', other));
  expect(classifyMarkOwner(marked(notes), request)).toBe(owner);
});
