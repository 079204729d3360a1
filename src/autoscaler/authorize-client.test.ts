import { describe, expect, it } from 'vitest';
import { aCluster, anInstance, aProviderConfig } from '../../test/support/fixtures/builders.ts';
import type { Services } from '../controllers/shared/services.ts';
import { authorizeClient } from './authorize-client.ts';

const now = new Date('2026-11-21T10:00:00Z');
const validTo = new Date('2026-11-22T10:00:00Z');
const cluster = aCluster();
const services = {
  ...anInstance,
  stores: {
    clusters: {
      get: ({ namespace, name }: { namespace?: string; name: string }) =>
        [cluster, aCluster({ profile: 'test.gardener.x' }, { name: 'foreign' })].find(
          ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
        ),
    },
    providerConfigs: { list: () => [aProviderConfig()] },
  },
} as unknown as Services;

const authorize = (names: string) => authorizeClient(services, { names, validTo }, now);

describe('the Cluster of a client', () => {
  it.each(['URI:cluster://team/prod', 'DNS:autoscaler, URI:cluster://team/prod'])('is that of %s', (names) => {
    expect(authorize(names)).toEqual({ cluster });
  });

  it.each([
    ['without a name', ''],
    ['with another kind of name', 'DNS:cluster://team/prod'],
    ['with two URIs', 'URI:cluster://team/prod, URI:cluster://team/other'],
    ['with the same URI twice', 'URI:cluster://team/prod, URI:cluster://team/prod'],
    ['with another scheme', 'URI:spiffe://team/prod'],
    ['with a port', 'URI:cluster://team:1/prod'],
    ['with a user', 'URI:cluster://x@team/prod'],
    ['with a query', 'URI:cluster://team/prod?x'],
    ['with an escaped slash', 'URI:cluster://team/prod%2Fx'],
    ['with upper case', 'URI:cluster://Team/prod'],
    ['with a quoted name that contains one', 'DNS:"x, URI:cluster://team/prod"'],
    ['that is quoted itself', 'URI:"cluster://team/prod"'],
  ])('is none of a certificate %s', (_, names) => {
    expect(authorize(names)).toEqual({ rejected: expect.stringContaining('exactly one URI') });
  });

  it.each(['absent', 'foreign'])('is none if it is %s', (name) => {
    expect(authorize(`URI:cluster://team/${name}`)).toEqual({
      rejected: expect.stringMatching(new RegExp(`^The client certificate is for Cluster team/${name}, which`)),
    });
  });

  it('is none of a certificate that ended while the connection was open, or of a connection that has ended', () => {
    const names = 'URI:cluster://team/prod';
    const rejected = expect.stringContaining('expired');
    expect(authorizeClient(services, { names, validTo: now }, now)).toEqual({ rejected });
    expect(authorizeClient(services, undefined, now)).toEqual({ rejected });
  });
});
