import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aMachine, anAccessRequest } from '../../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../../api/machine.ts';
import type { AccessRequest, OidcAccess } from '../../../api/openmcp/types.ts';
import { decideNextTrustRecord } from './decide-next-trust-record.ts';
import { decideTrust, type TrustView } from './decide-trust.ts';
import { isTrustRolloutDue } from './roll-out-trust.ts';
import { hashTrustRecord, type TrustRecord, toOidcTrust } from './trust-record.ts';
import { describeTrustReport } from './trust-report.ts';
import { findTrialTimeoutMs, needsTrial } from './trust-trial.ts';
import { WaitDurations } from './wait-durations.ts';

const minute = 60_000;

function asking(name: string, oidc: Partial<OidcAccess> = {}): AccessRequest {
  const request = anAccessRequest();
  const metadata = { ...request.metadata, name, uid: `uid-${name}`, creationTimestamp: '2026-11-21T09:00:00Z' };
  const issuer = `https://${name}.example.org`;
  return { ...request, metadata, spec: { oidc: { name, issuer, clientID: 'kube', roleBindings: [], ...oidc } } };
}

/**
 * Control planes whose API servers do not start with issuers that have `bad` in their name, and a provider that keeps
 * only the trust record between two steps.
 */
class Scene {
  record: TrustRecord | undefined;
  now = 0;
  bootstrappedAt: string | undefined = 'then';
  waitingTimes = new WaitDurations({ monotonic: () => this.now });
  authorities = new Map<string, string>();
  readonly nodes: { trust: string[]; away: boolean }[];
  machines: Machine[];
  /** The issuers of each start of an API server. */
  readonly starts: string[] = [];

  requests: AccessRequest[];

  constructor(requests: AccessRequest[], count = 1) {
    this.requests = requests;
    this.nodes = Array.from({ length: count }, () => ({ trust: [], away: false }));
    this.machines = this.nodes.map((_, i) => {
      const machine = aMachine();
      return {
        ...machine,
        metadata: { ...machine.metadata, name: `cp-${i}` },
        spec: { ...machine.spec, role: 'controlplane' },
      };
    });
  }

  decision() {
    const view: TrustView = {
      record: this.record,
      requests: this.requests,
      many: true,
      authorities: this.authorities,
      hasFile: () => true,
      ownIssuers: [],
      usedIssuers: undefined,
      config: 'home',
    };
    return decideTrust(view);
  }

  /** One reconcile and five seconds. Returns whether anything was left to do. */
  step(): boolean {
    this.now += 5000;
    const failed = this.#findFailure();
    const next = decideNextTrustRecord({
      secrets: { trust: this.record, bootstrappedAt: this.bootstrappedAt } as never,
      trust: this.decision(),
      machines: this.machines,
      trustRollout: failed === undefined ? undefined : { failed },
    });
    if (next) {
      this.record = next;
      return true;
    }
    if (!this.record || !isTrustRolloutDue(this.machines, this.record)) return false;
    this.#roll(this.record);
    return true;
  }

  #findFailure(): string | undefined {
    const { record } = this;
    if (!record || !needsTrial(record, this.machines)) return undefined;
    return this.machines
      .map(({ metadata }) => metadata.name)
      .find((name, i) => {
        const maxWait = this.#has(i, record) && !this.serves(i) ? findTrialTimeoutMs(record, name) : undefined;
        return maxWait !== undefined && this.waitingTimes.record(`${name} ${hashTrustRecord(record)}`) >= maxWait;
      });
  }

  #roll(record: TrustRecord): void {
    const wanted = issuersOf(record);
    const i = this.nodes.findIndex((_, at) => !this.#has(at, record));
    const rest = this.nodes.findIndex((_, at) => this.#has(at, record) && !this.serves(at));
    this.machines = this.machines.map((machine, at) =>
      this.#has(at, record) && this.serves(at)
        ? { ...machine, status: { ...machine.status, trust: hashTrustRecord(record) } as never }
        : machine,
    );
    const node = this.nodes[i];
    if (!node || rest >= 0) return;
    if (needsTrial(record, this.machines)) this.record = { ...record, trial: `cp-${i}` };
    node.trust = wanted;
    this.starts.push(wanted.join(' '));
  }

  #has = (i: number, record: TrustRecord): boolean => this.nodes[i]?.trust.join() === issuersOf(record).join();
  serves = (i: number): boolean => !this.nodes[i]?.trust.some((issuer) => issuer.includes('bad'));

  run(steps = 500): this {
    for (let i = 0; i < steps; i += 1) if (!this.step()) return this;
    throw new Error(`it is not at rest: ${JSON.stringify(this.record)}`);
  }

  verdicts(): Record<string, string> {
    const report = describeTrustReport(this.decision(), this.record, undefined, this.nodes.length);
    return Object.fromEntries(report.oidc?.requests.map(({ uid, state }) => [uid.slice(4), state]) ?? []);
  }
}

const issuersOf = ({ entries }: TrustRecord): string[] =>
  toOidcTrust(entries).map(({ issuer, ca = '' }) => `${issuer}${ca}`);
const names = (all: readonly AccessRequest[]) => all.map(({ metadata }) => metadata.name);

describe('a trust with which the API server of the first control plane does not start', () => {
  it('is rolled back after three minutes, and not tried again until it changes', () => {
    const fixture = new Scene([asking('good')], 3).run();
    const before = structuredClone(fixture.nodes);
    fixture.requests = [...fixture.requests, asking('bad')];
    const since = fixture.now;
    fixture.run();
    expect(fixture.now - since).toBeLessThan(4 * minute);
    expect(fixture.nodes).toEqual(before);
    expect(fixture.starts.filter((one) => one.includes('bad'))).toHaveLength(1);
    expect(fixture.verdicts()).toEqual({ good: 'Trusted', bad: 'Failed' });
    expect(fixture.decision().failed.get('uid-bad')).toMatch(/^spec\.oidc: the API server of cp-0 did not start/);
    expect(fixture.step()).toBe(false);
    fixture.requests = [asking('good'), asking('bad', { issuer: 'https://mended.example.org' })];
    fixture.run();
    expect(fixture.verdicts()).toEqual({ good: 'Trusted', bad: 'Trusted' });
    expect(fixture.record?.failed ?? []).toEqual([expect.objectContaining({ uid: 'uid-bad' })]);
  });

  it('blocks neither concurrent nor later requests', () => {
    const fixture = new Scene(
      ['one', 'bad', 'two'].map((name) => asking(name)),
      3,
    ).run();
    expect(fixture.verdicts()).toEqual({ one: 'Trusted', bad: 'Failed', two: 'Trusted' });
    fixture.requests = [...fixture.requests, asking('three')];
    fixture.run();
    expect(fixture.verdicts()).toMatchObject({ bad: 'Failed', three: 'Trusted' });
    expect(fixture.record).toMatchObject({ complete: true, leaving: [] });
    expect(fixture.record?.uncertain).toBeUndefined();
  });

  it('leaves a request its previous trust', () => {
    const fixture = new Scene([asking('a')], 1).run();
    fixture.requests = [asking('a', { issuer: 'https://bad.example.org' })];
    fixture.run();
    expect(fixture.nodes[0]?.trust).toEqual(['https://a.example.org']);
    expect(fixture.verdicts()).toEqual({ a: 'Failed' });
    fixture.requests = [asking('a')];
    fixture.run();
    expect(fixture.verdicts()).toEqual({ a: 'Trusted' });
  });

  it('keeps the previous CA of an issuer if the new one fails', () => {
    const fixture = new Scene([asking('a'), asking('b', { issuer: 'https://a.example.org', name: 'a' })], 1).run();
    fixture.authorities = new Map([['https://a.example.org', ' bad']]);
    fixture.run();
    expect(fixture.nodes[0]?.trust).toEqual(['https://a.example.org']);
    expect(fixture.verdicts()).toEqual({ a: 'Failed', b: 'Failed' });
  });

  it('is rolled back in a new cluster, and tried again after that', () => {
    const fixture = new Scene([asking('good'), asking('bad')], 1);
    fixture.bootstrappedAt = undefined;
    fixture.step();
    // The node is created with it.
    fixture.nodes[0] = { trust: issuersOf(fixture.record as TrustRecord), away: false };
    fixture.bootstrappedAt = 'then';
    const since = fixture.now;
    fixture.run(1000);
    expect(fixture.now - since).toBeGreaterThan(15 * minute);
    expect(fixture.verdicts()).toEqual({ good: 'Trusted', bad: 'Failed' });
    expect(fixture.nodes[0]?.trust).toEqual(['https://good.example.org']);
  });

  it('for any sequence of requests: good ones become Trusted, bad ones Failed, and all API servers run', () => {
    const pool = ['one', 'two', 'bad1', 'bad2', 'three'];
    const change = fc.record({
      who: fc.subarray(pool),
      after: fc.integer({ min: 0, max: 60 }),
      isKilled: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.constantFrom(1, 3), (changes, count) => {
        const fixture = new Scene([], count);
        for (const { who, after, isKilled } of changes) {
          // Only the record survives a restart.
          if (isKilled) fixture.waitingTimes = new WaitDurations({ monotonic: () => fixture.now });
          fixture.requests = who.map((name) => asking(name));
          for (let i = 0; i < after; i += 1) fixture.step();
        }
        fixture.run(2000);
        for (const name of names(fixture.requests))
          expect([name, fixture.verdicts()[name]]).toEqual([name, name.startsWith('bad') ? 'Failed' : 'Trusted']);
        for (const { trust } of fixture.nodes)
          expect(trust.map((url) => url.slice(8).split('.')[0]).sort()).toEqual(
            names(fixture.requests)
              .filter((name) => !name.startsWith('bad'))
              .sort(),
          );
        expect(fixture.record?.leaving ?? []).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
