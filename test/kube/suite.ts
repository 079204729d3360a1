import { afterAll, beforeAll, describe, it } from 'vitest';
import { accessRules } from './rules/access.ts';
import { admissionRules } from './rules/admission.ts';
import { applyRules } from './rules/apply.ts';
import { applyKindRules } from './rules/apply-kinds.ts';
import { celRules } from './rules/cel.ts';
import { collectionRules } from './rules/collection.ts';
import { contentRules } from './rules/contents.ts';
import { creationRules } from './rules/creation.ts';
import { definitionRefusalRules } from './rules/definition-refusals.ts';
import { definitionRules } from './rules/definitions.ts';
import { deletionRules } from './rules/deletion.ts';
import { discoveryRules } from './rules/discovery.ts';
import { forgettingRules } from './rules/forgetting.ts';
import { generatedRules } from './rules/generated.ts';
import { grantingRules } from './rules/granting.ts';
import { identityRules } from './rules/identity.ts';
import { kindRules } from './rules/kinds.ts';
import { listRules } from './rules/lists.ts';
import { objectRules } from './rules/objects.ts';
import { ourRuleRules } from './rules/our-rules.ts';
import { ourRules } from './rules/ours.ts';
import { patchRules } from './rules/patches.ts';
import { schemaRules } from './rules/schemas.ts';
import { statusRules } from './rules/status.ts';
import { tokenRules } from './rules/tokens.ts';
import { watchEndRules } from './rules/watch-ends.ts';
import { watchRules } from './rules/watches.ts';
import type { Platform } from './support/platform.ts';
import { ServerUnderTest } from './support/server-under-test.ts';

const all = [
  // Some servers take seconds over these. They stand side by side because they run at the same time.
  watchEndRules,
  collectionRules,
  definitionRules,
  tokenRules,
  creationRules,
  objectRules,
  contentRules,
  patchRules,
  applyRules,
  applyKindRules,
  statusRules,
  deletionRules,
  admissionRules,
  listRules,
  watchRules,
  definitionRefusalRules,
  schemaRules,
  celRules,
  accessRules,
  grantingRules,
  identityRules,
  discoveryRules,
  kindRules,
  ourRules,
  generatedRules,
  ourRuleRules,
  // Last: some servers are away for a moment when they are told to forget.
  forgettingRules,
];

/** Everything that is asked of a Kubernetes API server, under one started platform. */
export function suite(platform: Platform): void {
  if (platform.missing) {
    it(`a Kubernetes API server (${platform.name})`, ({ skip }) => skip(platform.missing));
    return;
  }
  describe(`a Kubernetes API server (${platform.name})`, () => {
    let started: ServerUnderTest;
    beforeAll(async () => {
      started = await ServerUnderTest.start(platform);
      // An image may have to be fetched.
    }, 300_000);
    afterAll(async () => {
      await started?.close();
    }, 120_000);
    const server = () => started;
    for (const rules of all) rules(server);
  });
}
