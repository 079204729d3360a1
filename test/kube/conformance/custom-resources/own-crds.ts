import { describe, expect, it } from 'vitest';
import { openmcpCrds } from '../../../world/operator/crds.ts';
import { warningsOf } from '../../support/expectations.ts';
import { shippedCrds } from '../../support/own-crds.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { crdsPath } from '../../support/widgets.ts';

const simulatedCrds = openmcpCrds.map((body): [string, Body] => [`the world's ${body.metadata.name}`, body]);

/** The definitions that this project ships or requires: a server has to accept them unchanged. */
export function testOwnCrds(server: () => ServerUnderTest): void {
  describe("the provider's own definitions", () => {
    it.each([...shippedCrds, ...simulatedCrds])('%s is accepted without a warning', async (_, body) => {
      // A dry run: an external server may have the same kinds in use.
      const query = { dryRun: 'All', fieldValidation: 'Strict' };
      const path = `${crdsPath}/${body.metadata.name}`;
      const answer = await server().admin.apply(path, body, 'kube-suite', { force: true, query });
      expect([answer.status, answer.body.message]).toEqual([
        expect.toSatisfy((status) => status === 200 || status === 201),
        undefined,
      ]);
      expect(warningsOf(answer)).toEqual([]);
    });
  });
}
