import { afterAll, beforeAll, describe, it } from 'vitest';
import { accessRules } from './rules/access.ts';
import { applyRules } from './rules/apply.ts';
import { celRules } from './rules/cel.ts';
import { definitionRules } from './rules/definitions.ts';
import { deletionRules } from './rules/deletion.ts';
import { discoveryRules } from './rules/discovery.ts';
import { forgettingRules } from './rules/forgetting.ts';
import { identityRules } from './rules/identity.ts';
import { kindRules } from './rules/kinds.ts';
import { listRules } from './rules/lists.ts';
import { objectRules } from './rules/objects.ts';
import { ourRules } from './rules/ours.ts';
import { patchRules } from './rules/patches.ts';
import { schemaRules } from './rules/schemas.ts';
import { statusRules } from './rules/status.ts';
import { watchRules } from './rules/watches.ts';
import type { Platform } from './support/platform.ts';
import { ServerUnderTest } from './support/server-under-test.ts';

const all = [
  objectRules,
  patchRules,
  applyRules,
  statusRules,
  deletionRules,
  listRules,
  watchRules,
  definitionRules,
  schemaRules,
  celRules,
  accessRules,
  identityRules,
  discoveryRules,
  kindRules,
  ourRules,
  // Last: some servers are away for a moment when they are told to forget.
  forgettingRules,
];

/** Everything that is asked of a Kubernetes API server, under one started platform. */
export function suite(platform: Platform): void {
  if (platform.missing) {
    it.skip(`the Kubernetes suite on "${platform.name}": ${platform.missing}`, () => undefined);
    return;
  }
  describe(`a Kubernetes API server (${platform.name})`, () => {
    let started: ServerUnderTest;
    beforeAll(async () => {
      started = await ServerUnderTest.start(platform);
    }, 120_000);
    afterAll(async () => {
      await started?.close();
    }, 120_000);
    const server = () => started;
    for (const rules of all) rules(server);
  });
}
