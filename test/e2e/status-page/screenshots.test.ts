import { readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { missingForChromium, startChromium } from '../../peers/chromium.ts';
import { projectRoot } from '../../setup/generated-files.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { sampleFleet } from '../../support/fixtures/sample-fleet.ts';
import { type ServedStatusPage, serveStatusPage } from '../../support/harness/status-page-harness.ts';

const docs = join(projectRoot, 'docs/images');
const maxBytes = 150 * 1024;

const screenshots = [
  { name: 'status-fleet-light', path: '#/', colorScheme: 'light', width: 1120, height: 1310 },
  { name: 'status-cluster-dark', path: '#/clusters/shop/checkout', colorScheme: 'dark', width: 1120, height: 960 },
  { name: 'status-fleet-narrow', path: '#/', colorScheme: 'dark', width: 390, height: 800 },
] as const;

/** With UPDATE_SCREENSHOTS=1 they replace those of the documentation. */
describeUnlessMissing('the screenshots of the status page', missingForChromium(), () => {
  const isUpdate = process.env['UPDATE_SCREENSHOTS'] === '1';
  let served: ServedStatusPage;
  let folder: string;

  beforeAll(async () => {
    served = await serveStatusPage(sampleFleet(), { host: '127.43.40.3' });
    folder = isUpdate ? docs : await mkdtemp(join(tmpdir(), 'screenshots-'));
    await mkdir(folder, { recursive: true });
  });
  afterAll(async () => {
    await served?.close();
    if (!isUpdate) await rm(folder, { recursive: true, force: true });
  });

  it.each(screenshots)(
    '$name is small enough for the documentation',
    async ({ name, path, colorScheme, ...viewport }) => {
      const browser = await startChromium();
      try {
        const page = await browser.newPage({ colorScheme, viewport, reducedMotion: 'reduce' });
        await page.goto(`${served.url}/${path}`);
        await page.locator('section').first().waitFor();
        const file = join(folder, `${name}.png`);
        await page.screenshot({ path: file });
        const { size } = await stat(file);
        expect(size).toBeGreaterThan(10_000);
        expect(size).toBeLessThan(maxBytes);
      } finally {
        await browser.close();
      }
    },
  );
});

it('the documentation has each of them', () => {
  expect(readdirSync(docs).sort()).toEqual(screenshots.map(({ name }) => `${name}.png`).sort());
  for (const { name } of screenshots) expect(statSync(join(docs, `${name}.png`)).size).toBeLessThan(maxBytes);
});
