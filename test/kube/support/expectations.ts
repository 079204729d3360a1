import { expect } from 'vitest';
import type { Body, RawResponse } from './raw-kube-client.ts';

/** The body of a response that must have this status; a failure shows the actual response. */
export function expectSuccess(answer: RawResponse, status = 200): Body {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.text.slice(0, 2000)}`);
  return answer.body;
}

/** The `Status` object of a response that must be this rejection. */
export function expectRejection(answer: RawResponse, status: number, reason: string): Body {
  if (answer.status !== status)
    throw new Error(`expected ${status} ${reason}, got ${answer.status}: ${answer.text.slice(0, 2000)}`);
  expect(answer.body).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason,
    code: status,
  });
  return answer.body;
}

/** Causes of a rejection as `field: message`, sorted: their order in the response is not guaranteed. */
export function causesOf(status: Body): string[] {
  return (status.details?.causes ?? []).map((cause: Body) => `${cause.field}: ${cause.message}`).sort();
}

/** Messages of the `Warning` headers of a response (RFC 7234: code, agent, quoted text). */
export function warningsOf(answer: RawResponse): string[] {
  const header = answer.headers['warning'];
  const lines = header === undefined ? [] : Array.isArray(header) ? header : [header];
  return lines.flatMap((line) =>
    [...line.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) => (match[1] ?? '').replace(/\\(.)/g, '$1')),
  );
}

/** Names of a list, in the order of the list. */
export const namesOf = (list: Body): string[] => list.items.map((item: Body) => item.metadata.name);
