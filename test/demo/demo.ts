import { demonstrateOidcLogin } from './access/oidc-login.ts';
import {
  applyObjects,
  awaitReadyAndGranted,
  deleteAll,
  printInstructions,
  printObjects,
  tryAccess,
} from './actions.ts';
import type { DemoArguments } from './arguments.ts';
import { type CleanupStack, startDemo } from './demo-context.ts';
import type { DemoScenario } from './demo-scenario.ts';
import { demoScenarios } from './demo-scenarios.ts';
import type { Screen } from './output/screen.ts';
import { describeOldCluster } from './upgrade/upgrade-scenario.ts';
import { upgradeCluster } from './upgrade/upgrade-story.ts';

/** The scenario of the platform, in the chosen story. */
function scenarioOf({ platform, story }: DemoArguments): DemoScenario {
  const scenario: DemoScenario = demoScenarios[platform];
  if (story === 'lifecycle') return scenario;
  const { upgrade } = scenario;
  return {
    ...scenario,
    seeds: { ...scenario.seeds, ...upgrade.seeds },
    objects: async (world) => describeOldCluster(await scenario.objects(world), upgrade),
  };
}

/** The whole demo. Waits for `untilInterrupted` if the user wants to keep it running. */
export async function runDemo(
  words: DemoArguments,
  screen: Screen,
  closers: CleanupStack,
  untilInterrupted: () => Promise<void>,
): Promise<void> {
  const testbed = await startDemo(words.platformKubeconfig, scenarioOf(words), screen, closers);
  const objects = await applyObjects(testbed, words.apply);
  await awaitReadyAndGranted(testbed, objects);
  const granted = await tryAccess(testbed, objects, words.apply === undefined);
  if (words.story === 'upgrade') await upgradeCluster(testbed, objects);
  const [request] = objects.filter(({ kind }) => kind === 'AccessRequest');
  if (words.apply === undefined && words.story === 'lifecycle' && request) {
    objects.push(await demonstrateOidcLogin(testbed, request));
    await testbed.story.interlude(testbed, objects);
  }
  await printObjects(testbed);
  if (words.keep) {
    printInstructions(testbed);
    await untilInterrupted();
  }
  await deleteAll(testbed, objects, granted);
}
