import { describe, expect, it } from 'vitest';
import { annotations } from '../../api/names.ts';
import type { Secret } from '../../kube/core-types.ts';
import { accessSecretKeys, findRenewalDueAt, fingerprintInputs, type KubeconfigInputs } from './access-secret.ts';

const inputs: KubeconfigInputs = { server: { url: 'https://10.0.0.1:6443', ca: 'PEM' }, account: 'uid-1' };
const keys = new Set(['key-1']);
const day = 24 * 3600;
const start = Date.parse('2026-11-21T09:00:00Z') / 1000;
const at = (seconds: number): Date => new Date((start + seconds) * 1000);

/** A Secret that our clock wrote at `created`, with a token that expires at `expires` by the cluster's clock. */
function written(created: number, expires: number): Secret {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'a.kubeconfig',
      annotations: { [annotations.server]: fingerprintInputs(inputs), [annotations.signingKey]: 'key-1' },
    },
    data: {
      [accessSecretKeys.kubeconfig]: encode('…'),
      [accessSecretKeys.created]: encode(String(start + created)),
      [accessSecretKeys.expires]: encode(String(start + expires)),
    },
  };
}

const due = (created: number, expires: number, now: number): number | undefined => {
  const date = findRenewalDueAt(written(created, expires), inputs, keys, at(now));
  return date && date.getTime() / 1000 - start;
};

describe('renewal of a token', () => {
  it('is due after four fifths of its validity', () => {
    expect(due(0, 30 * day, 60)).toBe(24 * day);
    expect(due(0, 600, 60)).toBe(480);
  });

  it.each([
    ['an hour ahead, where tokens are valid for an hour', 3600, 3600],
    ['forty days ahead', 40 * day, 30 * day],
    ['ahead by slightly less than the validity of a token', 30 * day - 5, 30 * day],
  ])('does not repeat at once if the clock is %s', (_, created, expires) => {
    expect(due(created, expires, created)).toBe(created + 300);
  });

  it('is due in time after a clock that was ahead is corrected', () => {
    expect(due(40 * day, 30 * day, 60)).toBeUndefined();
    expect(due(2 * day, 30 * day, 60)).toBeLessThan(30 * day);
  });

  it('is due after a clock that was far behind is corrected', () => {
    expect(due(-9000 * day, 30 * day, 60)).toBeLessThan(0);
  });
});

describe('an unexpired token is useless', () => {
  const ends = (now: KubeconfigInputs, valid: ReadonlySet<string> | undefined = keys) =>
    findRenewalDueAt(written(0, 30 * day), now, valid, at(60)) === undefined;

  it.each([
    ['is for another server', { ...inputs, server: { ...inputs.server, url: 'https://10.0.0.2:6443' } }],
    ['trusts another CA', { ...inputs, server: { ...inputs.server, ca: 'OTHER' } }],
    ['is of an account that was deleted and created again', { ...inputs, account: 'uid-2' }],
  ])('if it %s', (_, now) => {
    expect(ends(now)).toBe(true);
    expect(ends(inputs)).toBe(false);
  });

  it('if it is signed with a key that the cluster no longer accepts', () => {
    expect(ends(inputs, new Set(['key-2']))).toBe(true);
    expect(ends(inputs, new Set(['key-2', 'key-1']))).toBe(false);
  });

  it('but not by its key while the cluster does not publish its keys', () => {
    expect(findRenewalDueAt(written(0, 30 * day), inputs, undefined, at(60))).toEqual(at(24 * day));
  });
});
