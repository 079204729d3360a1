import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadServingCertificate } from '../../../src/server/serving-certificate.ts';
import { missingForChromium, startChromium } from '../../peers/chromium.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { sampleFleet } from '../../support/fixtures/sample-fleet.ts';
import type { StatusFleet } from '../../support/fixtures/status-fleet.ts';
import { type ServedStatusPage, serveStatusPage } from '../../support/harness/status-page-harness.ts';

/** The page as a user sees it, with a fleet in the caches, in a real browser. */
describeUnlessMissing('the status page in Chromium', missingForChromium(), () => {
  let browser: Browser;
  let fleet: StatusFleet;
  let served: ServedStatusPage;
  /** Whatever the browser reports: errors of scripts, and what the Content-Security-Policy blocks. */
  const complaints: string[] = [];
  /** Hosts that the browser sent requests to. */
  const hosts = new Set<string>();

  beforeAll(async () => {
    browser = await startChromium();
    fleet = sampleFleet();
    served = await serveStatusPage(fleet, { host: '127.43.40.1' });
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(`${served.url}/${path}`);
    return page;
  }
  const heading = async (page: Page): Promise<string> => (await page.locator('h1').innerText()).trim();

  it('shows the fleet at a glance, and leads to each of its parts', async () => {
    const page = await open('');
    await page.getByText('clusters are ready').first().waitFor();
    expect(await heading(page)).toBe('10 of 14 clusters are ready');
    const text = await page.locator('main').innerText();
    for (const part of [
      '34 of 41',
      'warehouse',
      'InsufficientMemory',
      '12 machines',
      '3 free of 21',
      '38.2 GiB free',
      'ETIMEDOUT',
    ])
      expect(text).toContain(part);
    await page.getByRole('link', { name: 'shop/checkout' }).first().click();
    await page.getByText('4 ready').waitFor();
    await page.getByRole('link', { name: /checkout-.*-web-0/ }).click();
    await page.getByText('resources-reserved').first().waitFor();
    expect(await page.getByRole('link', { name: /Serial console/ }).getAttribute('rel')).toContain('noopener');
    await page.close();
  });

  it('follows changes without a reload, and says them to a screen reader', async () => {
    const page = await open('');
    await page.getByText('10 of 14').first().waitFor();
    const cluster = fleet.cluster('new-one');
    await page.getByText('11 of 15').first().waitFor();
    expect(await page.locator('[aria-live=polite]').innerText()).toBe('11 of 15 clusters are ready');
    await page.goto(`${served.url}/#/clusters/shop/new-one`);
    await page.getByRole('heading', { name: 'new-one' }).waitFor();
    fleet.deleteCluster(cluster);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await page.close();
  });

  it('is used by keyboard alone: skip link, links in order, focus on the new heading, visible focus', async () => {
    const page = await open('');
    await page.locator('.figures').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Clusters');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await page.locator('table').waitFor();
    expect(await page.evaluate('document.activeElement.tagName + document.activeElement.textContent')).toBe(
      'H1Clusters',
    );
    await page.close();
  });

  it('filters clusters, in an address that can be shared', async () => {
    const page = await open('#/clusters');
    await page.locator('tbody tr').nth(13).waitFor();
    await page.getByRole('searchbox').fill('data/');
    await page.getByText('2 clusters').waitFor();
    await page.getByRole('combobox').selectOption('deleting');
    await page.getByText('1 cluster', { exact: true }).waitFor();
    expect(page.url()).toMatch(/#\/clusters\?text=data%2F&health=deleting$/);
    await page.close();
  });

  it.each([320, 390, 720, 1280])('fits into %i pixels', async (width) => {
    const page = await open('', { viewport: { width, height: 800 } });
    for (const path of ['', 'clusters', 'clusters/shop/checkout']) {
      await page.goto(`${served.url}/#/${path}`);
      await page.locator('section, table').first().waitFor();
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(`${path}: ${overflow}`).toBe(`${path}: 0`);
    }
    await page.close();
  });

  it.each(['light', 'dark'] as const)('has text of enough contrast in %s', async (colorScheme) => {
    const page = await open('', { colorScheme });
    for (const path of ['', 'clusters', 'clusters/shop/checkout', 'clusters/data/reports']) {
      await page.goto(`${served.url}/#/${path}`);
      await page.locator('section, table').first().waitFor();
      expect(await page.evaluate(findFaintText)).toEqual([]);
    }
    await page.close();
  });

  it('asks for a token where one is needed, and keeps it in the tab', async () => {
    const tls = await loadServingCertificate({}, new Date());
    const review = async (header?: string) => (header === 'Bearer good' ? 'allowed' : 'unauthenticated') as never;
    const secure = await serveStatusPage(fleet, { host: '127.43.40.2', protection: { tls, access: { review } } });
    const page = await browser.newPage({ ignoreHTTPSErrors: true });
    try {
      await page.goto(`${secure.url}/`);
      await page.getByLabel('Token').fill('bad');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Token').fill('good');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('.figures').waitFor();
      await page.reload();
      await page.locator('.figures').waitFor();
      expect(await page.evaluate('[document.cookie, localStorage.length, location.href.includes("good")]')).toEqual([
        '',
        0,
        false,
      ]);
    } finally {
      await page.close();
      await secure.close();
    }
  });

  it('asks no other host, and breaks no rule of its Content-Security-Policy', () => {
    expect([...hosts]).toEqual([new URL(served.url).host]);
    expect(complaints).toEqual([]);
  });
});

/** Texts with a contrast below that of WCAG 2.2 AA (4.5), in the browser. */
const findFaintText = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgroundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll('main *, header.top *')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()).join('');
    if (text === '' || element.closest('.hidden')) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(backgroundOf(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faint.push(text.slice(0, 40) + ' ' + contrast.toFixed(2));
  }
  return [...new Set(faint)];
})()`;
