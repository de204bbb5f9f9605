import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Compass, KeyRound } from 'lucide-react';
import { Component, type ReactNode, useEffect } from 'react';
import { Route, Switch } from 'wouter';
import { mayCall, takeTokenFromAddress, useLogIn, useLogOut, useSession } from '../api/session';
import type { Session } from '../api/types';
import { LiveProvider } from '../live/LiveProvider';
import { Button, LinkButton } from '../ui/Button';
import { Page } from '../ui/Layout';
import { type LateCode, useLate } from '../ui/late';
import { Empty, Failure, Skeleton } from '../ui/States';
import { ToastProvider } from '../ui/Toasts';
import { Frame } from './Frame';
import { LoginPage } from './LoginPage';
import { pages } from './pages';

export function App({ client }: { client: QueryClient }) {
  return (
    <QueryClientProvider client={client}>
      <ToastProvider>
        <Door />
      </ToastProvider>
    </QueryClientProvider>
  );
}

/** Lets in who is logged in, or who came by a link with a token. */
function Door() {
  const session = useSession();
  const { mutate: logIn, error: linkError, isPending: isLoggingIn } = useLogIn();
  useEffect(() => {
    const enter = () => {
      const token = takeTokenFromAddress();
      if (token) logIn(token);
    };
    enter();
    addEventListener('hashchange', enter);
    return () => removeEventListener('hashchange', enter);
  }, [logIn]);

  if (session.data) return <Inside session={session.data} />;
  if (session.data === null && !isLoggingIn) return <LoginPage linkError={linkError} />;
  if (session.error) {
    return (
      <main>
        <Failure title="The dashboard cannot start" error={session.error} onRetry={() => session.refetch()} />
      </main>
    );
  }
  return null;
}

function Inside({ session }: { session: Session }) {
  const visible = pages.filter((page) => mayCall(session.scope, page.needs));
  if (visible.length === 0) return <NothingToSee session={session} />;
  return (
    <LiveProvider>
      <Frame session={session}>
        <Switch>
          {pages.map(({ path, title, needs, code }) => (
            <Route key={path} path={path}>
              <PageBoundary key={path} title={title}>
                {mayCall(session.scope, needs) ? (
                  <PageContent title={title} code={code} />
                ) : (
                  <NotAllowed title={title} scope={session.scope} />
                )}
              </PageBoundary>
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Frame>
    </LiveProvider>
  );
}

function PageContent({ title, code }: { title: string; code: LateCode }) {
  const Content = useLate(code);
  if (Content) return <Content />;
  return (
    <Page title={title}>
      <Skeleton lines={6} />
    </Page>
  );
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty
        title="There is no such page"
        icon={<Compass />}
        action={<LinkButton href="/">Go to the overview</LinkButton>}
      >
        The address may be mistyped, or from another version.
      </Empty>
    </Page>
  );
}

function NotAllowed({ title, scope }: { title: string; scope: string }) {
  return (
    <Page title={title}>
      <Empty title="Your token may not see this" icon={<KeyRound />}>
        It has the scope “{scope}”. Log out, and in again with a token that may, or ask an administrator for
        one.
      </Empty>
    </Page>
  );
}

function NothingToSee({ session }: { session: Session }) {
  const logOut = useLogOut();
  return (
    <main>
      <Empty
        title="This token cannot read anything here"
        icon={<KeyRound />}
        action={<Button onClick={() => logOut.mutate()}>Log out</Button>}
      >
        “{session.name}” has the scope “{session.scope}”, which is for machines. Log in with a viewer or an
        administrator token.
      </Empty>
    </main>
  );
}

/** Keeps the frame standing when a page breaks. */
class PageBoundary extends Component<{ title: string; children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Page title={this.props.title}>
        <Failure
          title="This page broke"
          error={this.state.error}
          // A new version of the hub has new file names; only reading the page anew finds them.
          onRetry={() => location.reload()}
        />
      </Page>
    );
  }
}
