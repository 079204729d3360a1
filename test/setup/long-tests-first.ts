import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * Tests that take most of a minute or more. They start first, so that the run does not wait for one of them at the end.
 * Most sweeps need a full core each; tests that wait for other programs are placed between them.
 */
const longTests = [
  /e2e\/fault-sweep\/faults/,
  /e2e\/fault-sweep\/kills/,
  /e2e\/(operator|pods)\//,
  /e2e\/fault-sweep\/(robot|(trust-)?rollouts)/,
  /e2e\/access\/oidc-/,
  /e2e\/fault-sweep\/soak/,
  /kube\/real\.test/,
  /platforms\/hetzner-robot\/(reset-budget|server-faults)/,
  /platforms\/truenas\/(crashes|call-faults)|operator\/operator/,
  /platforms\/hetzner-robot/,
  /platforms\/truenas\/(repair-faults|change-events|encryption)|talos\/(testing\/talosctl|workload\/real)|qemu\.test|simulators\/main\.test/,
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = longTests.findIndex((pattern) => pattern.test(moduleId));
  return index < 0 ? longTests.length : index;
};

/**
 * Starts the long tests of each project first, and keeps vitest's order for the rest. A worker that changes to another
 * project restarts.
 */
export class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const at = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return sorted.toSorted((a, b) => at(a) - at(b) || rank(a) - rank(b));
  }
}
