import { appendFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Prints at the end why tests were skipped, and adds the counts of this run to the file that TEST_COUNTS names. */
export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((test) => test.result().state === 'skipped');
    const reasons = new Map<string, TestCase[]>();
    for (const test of skipped) {
      const reason = reasonOf(test);
      reasons.set(reason, [...(reasons.get(reason) ?? []), test]);
    }
    for (const [reason, cases] of reasons) {
      const files = [...new Set(cases.map((test) => test.module.relativeModuleId))];
      process.stdout.write(` ↓ ${cases.length} skipped in ${files.join(', ')}: ${reason}\n`);
    }
    const file = process.env['TEST_COUNTS'];
    if (!file) return;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = tests.filter((test) => test.result().state === 'failed').length + broken + errors.length;
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    appendFileSync(file, `${passed} ${failed} ${skipped.length}\n`);
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  return (result.state === 'skipped' && result.note) || 'no reason is given';
}
